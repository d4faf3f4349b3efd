// What the settings' schema says of the place where the cursor is: which keys may stand there, which values, and what they mean.

import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";

/** A part of a JSON Schema, as far as settings.schema.json uses them. */
export interface Schema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema | boolean;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  required?: string[];
}

/** A step from the settings to a part of them: a key, or an item of a list. */
export type Step = string | typeof ITEM;
export const ITEM = Symbol("item");

/** Everything that a schema allows: itself, and each of its alternatives. */
function alternatives(schema: Schema): Schema[] {
  const own = [schema.oneOf, schema.anyOf, schema.allOf].flatMap((list) => list ?? []);
  return [schema, ...own.flatMap(alternatives)];
}

/** The schemas of what stands at a path: several where there are alternatives, none where nothing may stand. */
export function at(schema: Schema, path: Step[]): Schema[] {
  let here = alternatives(schema);
  for (const step of path) {
    here = here.flatMap((one) => below(one, step)).flatMap(alternatives);
  }
  return here;
}

function below(schema: Schema, step: Step): Schema[] {
  if (step === ITEM) return typeof schema.items === "object" ? [schema.items] : [];
  const own = schema.properties?.[step];
  if (own) return [own];
  for (const [pattern, found] of Object.entries(schema.patternProperties ?? {})) {
    if (new RegExp(pattern, "u").test(step)) return [found];
  }
  return typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : [];
}

/** The keys that may stand at a path, each with what is said of it. */
export function keys(schema: Schema, path: Step[]): Map<string, Schema> {
  const found = new Map<string, Schema>();
  for (const one of at(schema, path)) {
    for (const [key, value] of Object.entries(one.properties ?? {})) if (!found.has(key)) found.set(key, value);
  }
  return found;
}

/** The values that are named for a path, each with what is said of it. */
export function values(schema: Schema, path: Step[]): Map<string, string> {
  const found = new Map<string, string>();
  const add = (value: unknown, about = "") => {
    if (typeof value !== "object" && !found.has(String(value))) found.set(String(value), about);
  };
  const schemas = at(schema, path);
  for (const one of schemas) {
    if (one.const !== undefined) add(one.const, one.description);
    for (const value of one.enum ?? []) add(value);
    if ([one.type].flat().includes("boolean")) [true, false].forEach((value) => add(value));
  }
  for (const one of schemas) {
    if (one.default !== undefined) add(one.default, "the default");
    for (const value of one.examples ?? []) add(value, "for example");
  }
  return found;
}

/** What stands below a key, in a few words: `text`, `list`, `true or false`. */
export function kind(schema: Schema): string {
  const words: Record<string, string> = { string: "text", array: "list", object: "map", boolean: "true or false", integer: "number", number: "number" };
  const types = new Set(alternatives(schema).flatMap((one) => [one.type].flat()).filter((type) => type !== undefined && type !== "null"));
  return [...types].map((type) => words[type as string] ?? type).filter((word, index, all) => all.indexOf(word) === index).join(" or ");
}

/** Where in the settings a position of the text is. */
export interface Place {
  /** The way to the map or list that it is in, or to the value. */
  path: Step[];
  /** Whether a value stands there; else a key does. */
  isValue: boolean;
  /** The keys that stand beside it in its map. */
  beside: Set<string>;
}

/** The place of a position: by the syntax tree within `{}` and `[]`, by the indentation of lines elsewhere. */
export function place(state: EditorState, position: number): Place {
  const inside = flow(syntaxTree(state).resolveInner(position, -1));
  return inside === null ? block(state, position) : inFlow(state, inside, position);
}

/** The map or list in brackets around a node. */
function flow(node: SyntaxNode | null): SyntaxNode | null {
  for (; node !== null; node = node.parent) {
    if (node.name === "FlowMapping" || node.name === "FlowSequence") return node;
    if (node.name.startsWith("Block")) return null;
  }
  return null;
}

function inFlow(state: EditorState, node: SyntaxNode, position: number): Place {
  const before = state.sliceDoc(node.from + 1, position);
  const open = lastPart(before);
  const steps: Step[] = node.name === "FlowSequence" ? [ITEM] : [];
  const pair = node.name === "FlowMapping" ? /^\s*("?)([^:"]+)\1\s*:\s/u.exec(open) : null;
  if (pair?.[2] !== undefined) steps.push(pair[2].trim());
  const keys = node.getChildren("Pair").flatMap((own) => own.getChildren("Key"));
  const beside = new Set(keys.map(({ from, to }) => unquoted(state.sliceDoc(from, to))));
  return { path: [...around(state, node), ...steps], isValue: node.name === "FlowSequence" || pair !== null, beside };
}

/** What stands behind the last comma that isn't in brackets of its own. */
function lastPart(text: string): string {
  let depth = 0;
  let start = 0;
  [...text].forEach((character, index) => {
    if ("{[".includes(character)) depth += 1;
    else if ("}]".includes(character)) depth -= 1;
    else if (character === "," && depth === 0) start = index + 1;
  });
  return text.slice(start);
}

/** The way to a node in brackets: through other brackets, then by lines. */
function around(state: EditorState, node: SyntaxNode): Step[] {
  const outer = flow(node.parent);
  if (outer !== null) return inFlow(state, outer, node.from).path;
  const own = block(state, node.from);
  return own.path;
}

const DASHES = /^\s*(?:-(?:\s+|$))*/u;
const KEY = /^("[^"]*"|'[^']*'|[^\s#:'"{[\-][^:#]*?|-[^\s:#][^:#]*?)\s*:(?=\s|$)/u;
/** A text in the lines below. */
const BLOCK_TEXT = /[:-]\s+[|>][+-]?\d?[+-]?\s*(?:#.*)?$/u;

/** The place by lines: what is indented less, and stands above, is around. */
function block(state: EditorState, position: number): Place {
  const last = state.doc.lineAt(position);
  let around: { indent: number; step: Step }[] = [];
  let text = Infinity;
  let isValue = false;
  for (let number = 1; number <= last.number; number += 1) {
    const isLast = number === last.number;
    const line = isLast ? last.text.slice(0, position - last.from) : state.doc.line(number).text;
    const indent = line.search(/\S|$/u);
    if (line.startsWith("---")) around = [];
    // A blank line ends nothing, but where the cursor is.
    if (!isLast && /^\s*(?:#|$)/u.test(line)) continue;
    if (indent > text) {
      // Within a text of several lines there are no keys.
      if (isLast) return { path: around.map(({ step }) => step), isValue: true, beside: new Set() };
      continue;
    }
    text = Infinity;
    const head = DASHES.exec(line)?.[0] ?? "";
    for (const { index } of head.matchAll(/-/gu)) {
      // A list may stand as deep as its key.
      around = around.filter((one) => one.indent < index || (one.indent === index && one.step !== ITEM));
      around.push({ indent: index, step: ITEM });
    }
    const key = KEY.exec(line.slice(head.length));
    if (key?.[1] !== undefined || isLast) around = around.filter((one) => one.indent < head.length);
    if (key?.[1] !== undefined) around.push({ indent: head.length, step: unquoted(key[1]) });
    isValue = key !== null;
    if (BLOCK_TEXT.test(line)) text = indent;
  }
  const { length } = DASHES.exec(last.text.slice(0, position - last.from))?.[0] ?? "";
  return { path: around.map(({ step }) => step), isValue, beside: keysBeside(state, last.number, length) };
}

/** The keys of a map whose keys stand as deep as those of a line. */
function keysBeside(state: EditorState, from: number, indent: number): Set<string> {
  const found = new Set<string>();
  for (const direction of [-1, 1]) {
    for (let number = from + direction; number >= 1 && number <= state.doc.lines; number += direction) {
      const line = state.doc.line(number).text;
      if (/^\s*(?:#|$)/u.test(line)) continue;
      const head = DASHES.exec(line)?.[0] ?? "";
      const dash = line.search(/\S/u);
      if (head.length < indent || line.startsWith("---")) break;
      // Another item of the same list has keys of its own; the first line of this one has a key of it.
      const isItem = head.includes("-") && head.length === indent;
      if (isItem && direction === 1) break;
      const key = head.length === indent ? KEY.exec(line.slice(head.length))?.[1] : undefined;
      if (key !== undefined) found.add(unquoted(key));
      if (isItem && dash < indent) break;
    }
  }
  return found;
}

function unquoted(key: string): string {
  return /^["'].*["']$/u.test(key) ? key.slice(1, -1) : key;
}
