// A text editor for YAML: colours, folding, problems at their lines, and, where there is a schema, completion and hover.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, isolateHistory } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { drawSelection, dropCursor, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { at, keys, kind, place, values, type Schema, type Step } from "./schema";

/** Something to say of a line; lines begin with 1. */
export interface Mark {
  line: number;
  severity: "error" | "warning" | "info";
  message: string;
}

/** The longest text that is coloured and looked into while somebody types, in characters. */
const COLOURED = 300_000;

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--pg-key)" },
  { tag: [tags.string, tags.content], color: "var(--pg-string)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--pg-comment)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.bool, tags.null, tags.number, tags.atom], color: "var(--pg-atom)" },
  { tag: [tags.meta, tags.separator, tags.punctuation], color: "var(--pg-comment)" },
]);

/** Makes an editor in `parent`. Whoever types is heard by `typed`; texts that `setText` writes are not. */
export class Editor {
  readonly view: EditorView;
  readonly #extensions: Extension[];
  #language = new Compartment();
  #isQuiet = false;

  constructor(parent: HTMLElement, text: string, options: { label: string; hint: string; schema?: Schema; typed: (text: string) => void }) {
    const { label, hint, schema, typed } = options;
    this.#extensions = [
      lineNumbers(),
      foldGutter(),
      lintGutter(),
      history(),
      drawSelection(),
      dropCursor(),
      indentOnInput(),
      indentUnit.of("  "),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      syntaxHighlighting(colours),
      placeholder(hint),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
      // The Tab key moves on, as everywhere: nobody is caught in an editor.
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !this.#isQuiet) typed(update.state.doc.toString());
      }),
    ];
    if (schema) this.#extensions.push(autocompletion({ override: [completions(schema)] }), hover(schema));
    this.view = new EditorView({ parent, state: this.#state(text) });
  }

  /** Another file's text: nothing can be undone that was done to the file before. */
  open(text: string): void {
    this.view.setState(this.#state(text));
  }

  #state(text: string): EditorState {
    return EditorState.create({ doc: text, extensions: [...this.#extensions, this.#language.of(language(text))] });
  }

  /** Another text of the same file, which can be undone. */
  setText(text: string): void {
    if (text === this.view.state.doc.toString()) return;
    this.#isQuiet = true;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      effects: this.#language.reconfigure(language(text)),
      // One step to undo, apart from what was typed just before.
      annotations: isolateHistory.of("full"),
    });
    this.#isQuiet = false;
  }

  /** What is said of lines, instead of what was said before. */
  setMarks(marks: Mark[]): void {
    const { doc } = this.view.state;
    const diagnostics = marks.map(({ line, severity, message }): Diagnostic => {
      const { from, to, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
      return { from: Math.min(from + text.search(/\S|$/u), to), to, severity, message };
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Brings a line into view, and the cursor to it. */
  goTo(line: number): void {
    const { doc } = this.view.state;
    const { from } = doc.line(Math.min(Math.max(line, 1), doc.lines));
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }

  destroy(): void {
    this.view.destroy();
  }
}

/** A text of a megabyte is shown and decided, not coloured. */
function language(text: string): Extension {
  return text.length > COLOURED ? [] : yaml();
}

/** The steps below the settings; undefined for what stands around them in a policy's manifest. */
function ofSettings(path: Step[], state: EditorState): Step[] | undefined {
  if (!/^kind: *["']?\w*AdmissionPolicy\b/mu.test(state.sliceDoc(0, 10_000))) return path;
  return path[0] === "spec" && path[1] === "settings" ? path.slice(2) : undefined;
}

function completions(schema: Schema) {
  return (context: CompletionContext): CompletionResult | null => {
    const { state, pos } = context;
    const word = context.matchBefore(/[\w.\-/]*/u) ?? { from: pos, text: "" };
    if (!context.explicit && word.text === "" && !/[:[{,-]\s$/u.test(state.sliceDoc(Math.max(pos - 2, 0), pos))) return null;
    const { path, isValue, beside } = place(state, pos);
    const steps = ofSettings(path, state);
    if (steps === undefined) return null;
    // The whole word is replaced, and what stands around it stays: a colon, a quote.
    const line = state.doc.lineAt(pos);
    const rest = /^[\w.\-/]*/u.exec(state.sliceDoc(pos, line.to))?.[0] ?? "";
    const [before, behind] = [state.sliceDoc(line.from, word.from), state.sliceDoc(pos + rest.length, line.to)];
    if (/(?:^|\s)#/u.test(before)) return null;
    const found: Completion[] = [];
    for (const [value, about] of values(schema, steps)) {
      found.push({ label: value, type: "constant", apply: before.endsWith(":") ? ` ${value}` : value, ...(about ? { detail: firstLine(about) } : {}) });
    }
    if (!isValue) {
      const end = /^["']?\s*:/u.test(behind) || /["']$/u.test(before) ? "" : ": ";
      for (const [key, about] of keys(schema, steps)) {
        if (beside.has(key) && key !== word.text + rest) continue;
        found.push({ label: key, type: "property", detail: kind(about), info: about.description ?? "", apply: key + end });
      }
    }
    return found.length === 0 ? null : { from: word.from, to: pos + rest.length, options: found, validFor: /^[\w.\-/]*$/u };
  };
}

function hover(schema: Schema) {
  return hoverTooltip((view, pos) => {
    const word = view.state.wordAt(pos);
    if (word === null) return null;
    // Behind the colon of a key stands its value, so that the key is the last step.
    const line = view.state.doc.lineAt(word.to);
    const behind = /^["']?\s*:\s?/u.exec(view.state.sliceDoc(word.to, line.to));
    const { path, isValue } = place(view.state, behind === null ? word.to : word.to + behind[0].length);
    const steps = ofSettings(path, view.state);
    if (!isValue || steps === undefined) return null;
    const [about] = at(schema, steps);
    if (about?.description === undefined) return null;
    return { pos: word.from, end: word.to, above: true, create: () => ({ dom: card(steps, about, schema) }) };
  });
}

function card(steps: Step[], about: Schema, schema: Schema): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "pg-hover";
  const add = (name: string, text: string) => dom.appendChild(Object.assign(document.createElement(name), { textContent: text }));
  const title = steps.map((step) => (typeof step === "string" ? `.${step}` : "[]")).join("");
  add("strong", title.replace(/^\./u, ""));
  add("span", ` ${kind(about)}`);
  add("p", about.description ?? "");
  if (about.default !== undefined) add("p", `Without it: ${JSON.stringify(about.default)}`);
  const named = [...values(schema, steps)].filter(([, what]) => what !== "the default" && what !== "for example");
  for (const [value, what] of named) add("p", what ? `${value}: ${firstLine(what)}` : value);
  return dom;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
