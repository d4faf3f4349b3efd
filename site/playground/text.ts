// YAML texts with their comments: which objects and settings are in them, on which line something stands, and how settings are
// changed without the rest.

import { type Document, type DocumentOptions, isCollection, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, type ParseOptions, type SchemaOptions, stringify, type YAMLMap } from "yaml";

import { isWritten } from "./workspace";

/** The longest text that is looked into while somebody types, in characters. */
const LOOKED_INTO = 300_000;

type Step = string | number;

/** An object that is decided: where it stands, and what it is. */
interface Placed {
  document: number;
  /** The way to it in its document. */
  steps: Step[];
  value: unknown;
  /** The request that it is the object of. */
  request?: unknown;
}

/** What is asked: an object, or a whole request. */
export interface Asked {
  object: unknown;
  request?: unknown;
  /** Whether the text has nothing else, and no list around it. */
  isAlone: boolean;
}

/** The documents of a text. What is no YAML has none; the policy tells why. */
function documents(text: string, options: ParseOptions & DocumentOptions & SchemaOptions = {}): Document[] {
  const found = parseAllDocuments(text, { logLevel: "silent", ...options }) as Document[];
  return found.some(({ errors }) => errors.length > 0) ? [] : found;
}

/** What a text says, and where. */
export class YamlText {
  readonly #counter = new LineCounter();
  readonly #text: string;
  readonly #documents: Document[];
  #placed: Placed[] | undefined;

  /** Where `isExact`, whole numbers of any size are what they are: as BigInt. */
  constructor(text: string, isExact = false) {
    this.#text = text;
    this.#documents = text.length > LOOKED_INTO ? [] : documents(text, { lineCounter: this.#counter, intAsBigInt: isExact });
  }

  /** The objects in it, in the order in which they are decided: those of Lists one by one, and those of requests. */
  objects(): unknown[] {
    return this.#objects().map(({ value }) => value);
  }

  /** What is asked with each of them. */
  asked(): Asked[] {
    const all = this.#objects();
    return all.map(({ value, request, steps }) => ({ object: value, ...(request === undefined ? {} : { request }), isAlone: all.length === 1 && steps.length === 0 }));
  }

  /** The settings in it: as they are, or in a policy's manifest, of the one that is named where there are several. */
  settings(policy = ""): Record<string, unknown> {
    const found = settingsIn(this.#documents, policy);
    return map(found === undefined ? undefined : valueOf(found.document.getIn(found.steps), found.document));
  }

  /** The manifest of the policy that the settings stand in, if they do. */
  policy(): string | undefined {
    const found = settingsIn(this.#documents);
    if (found === undefined || found.steps.length === 0) return undefined;
    const steps = found.steps.slice(0, -2);
    if (this.#documents.length === 1 && steps.length === 0) return this.#text;
    return steps.length === 0 ? found.document.toString({ lineWidth: 0 }) : stringify(found.document.getIn(steps, true), { lineWidth: 0 });
  }

  /** The document of settings that stand alone; undefined where there are several, or none. */
  alone(): Document | undefined {
    const all = this.#documents.filter(hasValue);
    return all.length === 1 ? all[0] : undefined;
  }

  /** The line of what a JSON pointer leads to in an object, or of what is nearest around it. */
  ofPointer(index: number, pointer: string): number | undefined {
    const object = this.#objects()[index];
    const steps = pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    return object && this.#line(object.document, [...object.steps, ...steps]);
  }

  /** The line of a path of settings, `a.b[0].c`, or of one in the policy's manifest, `spec.mode`. Keys may have dots. */
  ofPath(path: string): number | undefined {
    const found = settingsIn(this.#documents);
    if (found === undefined) return undefined;
    const start = path.startsWith("spec.") ? [] : found.steps;
    const from = start.length === 0 ? found.document.contents : found.document.getIn(start, true);
    return this.#line(this.#documents.indexOf(found.document), [...start, ...stepsOf(from, path)]);
  }

  /** Looked for once: every rejected image of a List asks for its object. */
  #objects(): Placed[] {
    return (this.#placed ??= this.#documents.flatMap((document, index) => placed(index, [], valueOf(document.contents, document))));
  }

  #line(index: number, steps: Step[]): number | undefined {
    let node: unknown = this.#documents[index]?.contents;
    let offset: number | undefined = isNode(node) ? node.range?.[0] : undefined;
    for (const step of steps) {
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => keyOf(key) === String(step));
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

/** The objects in a value: those of a List, that of a request, or itself. */
function placed(document: number, steps: Step[], value: unknown): Placed[] {
  const own = map(value);
  if (value === null || value === undefined) return [];
  if (String(own.kind ?? "").endsWith("List") && Array.isArray(own.items)) {
    return own.items.flatMap((item, index) => placed(document, [...steps, "items", index], item));
  }
  if (own.request !== undefined && own.apiVersion !== undefined) return placed(document, [...steps, "request"], own.request);
  if (own.uid !== undefined && own.operation !== undefined) return [{ document, steps: [...steps, "object"], value: own.object, request: own }];
  return [{ document, steps, value }];
}

function hasValue({ contents }: Document): boolean {
  return contents !== null && !(isScalar(contents) && contents.value === null);
}

/** Where the settings stand: below `spec.settings` of a policy, or alone. */
function settingsIn(all: Document[], policy = ""): { document: Document; steps: Step[] } | undefined {
  // `namespace/name`, or the name alone.
  const name = policy.slice(policy.indexOf("/") + 1);
  const isMeant = (node: YAMLMap) => name === "" || node.getIn(["metadata", "name"]) === name;
  const isPolicy = (node: unknown) => isMap(node) && String(node.get("kind")).endsWith("AdmissionPolicy") && isMeant(node);
  for (const document of all) {
    if (isPolicy(document.contents)) return { document, steps: ["spec", "settings"] };
    // A List, as kubectl writes it.
    const items: unknown = isMap(document.contents) && document.contents.has("kind") ? document.contents.get("items") : undefined;
    const index = isSeq(items) ? items.items.findIndex(isPolicy) : -1;
    if (index >= 0) return { document, steps: ["items", index, "spec", "settings"] };
  }
  const document = all.find(hasValue);
  return document && { document, steps: [] };
}

/** The text with other settings, and with everything else as it is; undefined where it is no YAML. */
export function withSettings(text: string, value: unknown): string | undefined {
  const all = documents(text);
  const found = settingsIn(all);
  // Nothing yet, but for what is said of it.
  if (found === undefined) return !isWritten(text) ? text + (/[^\n]$/u.test(text) ? "\n" : "") + stringify(value, { lineWidth: 0 }) : undefined;
  if (/^\s*\{/u.test(text)) return asJson(text, found.steps, value);
  const { document, steps } = found;
  const [above, own] = [steps.slice(0, -1), steps.slice(-1)];
  if (steps.length > 0 && !isMap(document.getIn(above, true))) document.setIn(above, document.createNode({ [String(own)]: {} }));
  change(document, steps, steps.length === 0 ? document.contents : document.getIn(steps, true), value);
  return all.map((one) => one.toString({ lineWidth: 0, ...style(text) }).replace(/^---\n/u, "")).join("---\n");
}

/** JSON stays JSON. */
function asJson(text: string, steps: Step[], value: unknown): string | undefined {
  try {
    const whole = JSON.parse(text) as Record<Step, unknown>;
    if (steps.length === 0) return `${JSON.stringify(value, null, 2)}\n`;
    const policy = steps.slice(0, -2).reduce((at, step) => at[step] as Record<Step, unknown>, whole);
    policy.spec = { ...map(policy.spec), settings: value };
    return `${JSON.stringify(whole, null, 2)}\n`;
  } catch {
    return undefined;
  }
}

/** How a text is written: how deep, whether lists stand deeper than their keys, and `{a: 1}` or `{ a: 1 }`. */
function style(text: string): { indent: number; indentSeq: boolean; flowCollectionPadding: boolean } {
  const indent = /:[ ]*\n(?: *#[^\n]*\n)*( +)\S/u.exec(text)?.[1]?.length ?? 2;
  return { indent, indentSeq: !/^( *)[^\s#-][^\n]*:[ ]*\n\1- /mu.test(text), flowCollectionPadding: /[:,-] +[{[] \S/u.test(text) };
}

/** Makes what stands at a path have a value: key by key, item by item. */
function change(document: Document, path: Step[], node: unknown, value: unknown): void {
  const now = valueOf(node, document);
  if (same(now, value)) return;
  if (isMap(node) && isPlain(value)) {
    for (const key of Object.keys(map(now))) if (!Object.hasOwn(value, key)) document.deleteIn([...path, key]);
    for (const [key, own] of Object.entries(value)) change(document, [...path, key], node.get(key, true), own);
    return;
  }
  if (isSeq(node) && Array.isArray(value) && Array.isArray(now)) {
    // What is the same at both ends stays; what differs between is changed, item by item.
    const least = Math.min(now.length, value.length);
    let first = 0;
    while (first < least && same(now[first], value[first])) first += 1;
    let last = 0;
    while (last < least - first && same(now.at(-1 - last), value.at(-1 - last))) last += 1;
    const [old, wanted] = [now.length - first - last, value.length - first - last];
    for (let index = 0; index < Math.min(old, wanted); index += 1) {
      change(document, [...path, first + index], node.items[first + index], value[first + index]);
    }
    const at = first + Math.min(old, wanted);
    const more = value.slice(at, first + wanted).map((own) => document.createNode(own) as Node);
    node.items.splice(at, Math.max(old - wanted, 0), ...more);
    return;
  }
  const created = document.createNode(value);
  if (isCollection(created) && isCollection(node)) created.flow = node.flow ?? false;
  if (path.length === 0) document.contents = created as typeof document.contents;
  else document.setIn(path, created);
}

/** The steps of a path. At each map the longest key that fits is meant: `byNamespace.team.a` may be two steps or three. */
function stepsOf(from: unknown, path: string): Step[] {
  const found: Step[] = [];
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
    const fits = (key: string) => key !== "" && (rest === key || rest.startsWith(`${key}.`) || rest.startsWith(`${key}[`));
    const key = keys.filter(fits).sort((a, b) => b.length - a.length)[0] ?? /^\.?[^.[]*/u.exec(rest)?.[0] ?? rest;
    found.push(key);
    node = isMap(node) ? (node as YAMLMap).get(key, true) : undefined;
    rest = rest.slice(key.length || 1).replace(/^\./u, "");
  }
  return found;
}

function keyOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : String(key);
}

/** A node's value; null where it has none, or where what it stands for grows without end. */
function valueOf(node: unknown, document: Document): unknown {
  try {
    return isNode(node) ? (node.toJS(document, { maxAliasCount: 1000 }) as unknown) : (node ?? null);
  } catch {
    return null;
  }
}

/** A value as a map; anything else is an empty one. */
export function map(value: unknown): Record<string, unknown> {
  return isPlain(value) ? value : {};
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
