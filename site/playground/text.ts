// YAML texts with their comments: on which line something stands, and how a value is changed without the rest.

import { type Document, isCollection, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, parseDocument, stringify } from "yaml";

/** The longest text that is looked into while somebody types, in characters. */
const LOOKED_INTO = 300_000;

/** Finds lines in the documents of a text. */
export class Lines {
  readonly #counter = new LineCounter();
  readonly #documents: Document[];

  constructor(text: string) {
    const parsed = text.length > LOOKED_INTO ? [] : parseAllDocuments(text, { lineCounter: this.#counter, logLevel: "silent" });
    this.#documents = [...parsed] as Document[];
  }

  /** The values of all documents. */
  values(): unknown[] {
    return this.#documents.map((document) => {
      try {
        return document.toJS({ maxAliasCount: 1000 });
      } catch {
        return null;
      }
    });
  }

  /** The line of what a JSON pointer leads to, or of what is nearest around it; undefined where there is no such document. */
  ofPointer(index: number, pointer: string): number | undefined {
    const steps = pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    return this.#line(index, steps);
  }

  /** The line of a path of settings, `a.b[0].c`. Keys may have dots. */
  ofPath(path: string): number | undefined {
    return this.#line(0, steps(this.#documents[0]?.contents, path));
  }

  #line(index: number, steps: (string | number)[]): number | undefined {
    const document = this.#documents[index];
    let node: unknown = document?.contents;
    let offset: number | undefined = isNode(node) ? node.range?.[0] : undefined;
    for (const step of steps) {
      if (isMap(node)) {
        const pair = node.items.find((pair) => keyOf(pair.key) === String(step));
        if (pair === undefined) break;
        offset = isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(step)];
        if (!isNode(node)) break;
        offset = node.range?.[0] ?? offset;
      } else break;
    }
    return offset === undefined ? undefined : this.#counter.linePos(offset).line;
  }
}

function keyOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key);
}

/** The steps of a path. At each map the longest key that fits is meant: `byNamespace.team.a` may be two steps or three. */
function steps(from: unknown, path: string): (string | number)[] {
  const found: (string | number)[] = [];
  let node = from;
  let rest = path;
  while (rest !== "") {
    const position = /^\[(\d+)\]\.?/u.exec(rest);
    if (position !== null) {
      found.push(Number(position[1]));
      rest = rest.slice(position[0].length);
      node = isSeq(node) ? node.items[Number(position[1])] : undefined;
      continue;
    }
    const keys = isMap(node) ? node.items.map(({ key }) => keyOf(key)) : [];
    const fits = (key: string) => rest === key || rest.startsWith(`${key}.`) || rest.startsWith(`${key}[`);
    const key = keys.filter(fits).sort((a, b) => b.length - a.length)[0] ?? rest.split(/[.[]/u, 1)[0] ?? rest;
    found.push(key);
    node = isMap(node) ? node.get(key, true) : undefined;
    rest = rest.slice(key.length).replace(/^\./u, "");
  }
  return found;
}

/** The text of settings with another value, and with all of its comments where nothing changed. */
export function withValue(text: string, value: unknown): string {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) return stringify(value, { lineWidth: 0 });
  const kind: unknown = document.contents.get("kind");
  const inside = typeof kind === "string" && kind.endsWith("AdmissionPolicy") ? ["spec", "settings"] : [];
  change(document, inside, inside.length === 0 ? document.contents : document.getIn(inside, true), value);
  // `{a: 1}` or `{ a: 1 }`, as the text has it.
  return document.toString({ lineWidth: 0, flowCollectionPadding: /[:,-] +[{[] \S/u.test(text) });
}

/** Makes what stands at a path have a value: key by key, and in lists by what is put at either end. */
function change(document: Document, path: (string | number)[], node: unknown, value: unknown): void {
  const now = isNode(node) ? node.toJS(document) : node;
  if (same(now, value)) return;
  if (isMap(node) && isPlain(value)) {
    for (const key of Object.keys(now as object)) if (!(key in value)) document.deleteIn([...path, key]);
    for (const [key, own] of Object.entries(value)) change(document, [...path, key], node.get(key, true), own);
    return;
  }
  if (isSeq(node) && Array.isArray(value)) {
    const old = now as unknown[];
    const more = value.length - old.length;
    const create = (own: unknown) => document.createNode(own) as Node;
    if (more > 0 && same(value.slice(0, old.length), old)) return void node.items.push(...value.slice(old.length).map(create));
    if (more > 0 && same(value.slice(more), old)) return void node.items.unshift(...value.slice(0, more).map(create));
  }
  // A text keeps its block; everything else is written anew.
  const created = document.createNode(value);
  if (isCollection(created) && isCollection(node)) created.flow = node.flow ?? false;
  if (path.length === 0) document.contents = created as typeof document.contents;
  else document.setIn(path, created);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

