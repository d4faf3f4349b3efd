// The playground's own logic, without a browser: where the cursor is, what a schema says of it, and how a text is changed.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { yaml } from "@codemirror/lang-yaml";
import { ensureSyntaxTree } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { expect, test } from "@playwright/test";
import { parse } from "yaml";
import { root } from "../.vitepress/repository";
import { patched } from "../playground/examples";
import { decode, encode } from "../playground/link";
import { at, ITEM, keys, kind, place, type Schema, values } from "../playground/schema";
import { withSettings, YamlText } from "../playground/text";

const schema: Schema = JSON.parse(readFileSync(join(root, "settings.schema.json"), "utf8"));

/** The place of `|` in a text. */
function placeOf(marked: string): string {
  const position = marked.indexOf("|");
  const state = EditorState.create({ doc: marked.replace("|", ""), extensions: [yaml()] });
  ensureSyntaxTree(state, state.doc.length, 5000);
  const { path, isValue } = place(state, position);
  return `${path.map((step) => (step === ITEM ? "[]" : String(step))).join(".")}${isValue ? " =" : ""}`;
}

test("the place of the cursor is told", () => {
  const places: [string, string][] = [
    ["|", ""],
    ["reg|", ""],
    ["registries: |", "registries ="],
    ["registries: [gh|]", "registries.[] ="],
    ["registries:\n  - |", "registries.[]"],
    ["registries:\n- |", "registries.[]"],
    ["acceptance:\n  |", "acceptance"],
    ["acceptance:\n  maxSeverity:\n    critical: {to|}", "acceptance.maxSeverity.critical"],
    ["acceptance:\n  maxSeverity:\n    critical: {total: |}", "acceptance.maxSeverity.critical.total ="],
    ["acceptance: {maxSeverity: {high: {total: 1}, |}}", "acceptance.maxSeverity"],
    ["preScanPolicies:\n  customPolicies:\n    - prefix: ghcr.io/\n      |", "preScanPolicies.customPolicies.[]"],
    ["preScanPolicies:\n  customPolicies:\n    - prefix: ghcr.io/\n      action: |", "preScanPolicies.customPolicies.[].action ="],
    ["preScanPolicies:\n  customPolicies:\n    - {prefix: ghcr.io/, action: |}", "preScanPolicies.customPolicies.[].action ="],
    ["preScanPolicies:\n  customPolicies:\n    - prefix: ghcr.io/\n    - |", "preScanPolicies.customPolicies.[]"],
    ["preScanPolicies:\n  # a remark: x\n\n  |\nscanPolicies: {}", "preScanPolicies"],
    ["preScanPolicies:\n  defaultPolicy: scan\n|", ""],
    ["regoPolicies:\n  - name: x\n    rego: >\n      package a: b\n      deny: c\n    |", "regoPolicies.[]"],
    ['acceptance:\n  byNamespace:\n    "a.b":\n      |', "acceptance.byNamespace.a.b"],
    ["a:\n  - - b: |", "a.[].[].b ="],
  ];
  for (const [text, expected] of places) expect(placeOf(text), text).toBe(expected);
});

test("the schema says what may stand at a place", () => {
  expect([...keys(schema, []).keys()]).toContain("registries");
  expect([...keys(schema, ["acceptance", "maxSeverity", "critical"]).keys()]).toContain("total");
  expect([...keys(schema, ["acceptance", "byNamespace", "shop"]).keys()]).toContain("maxSeverity");
  expect([...values(schema, ["preScanPolicies", "customPolicies", ITEM, "action"]).keys()]).toEqual(expect.arrayContaining(["accept", "reject"]));
  expect([...values(schema, ["verboseLog"]).keys()]).toEqual(expect.arrayContaining(["true", "false"]));
  expect(at(schema, ["nothing"])).toEqual([]);
  expect(kind(at(schema, ["registries"])[0]!)).toContain("list");
});

test("a text is changed and keeps its comments", () => {
  const text = "# ours\nregistries: [ghcr.io] # the only one\nacceptance:\n  # none\n  maxSeverity: {critical: {total: 0}}\ncustomRules: |\n  deny_image[x] { x := 1 }\n";
  const settings = parse(text);
  expect(withSettings(text, settings)).toBe(text);
  const changed = withSettings(text, { ...settings, exemptions: [{ vulnerability: "CVE-1" }], registries: ["ghcr.io", "docker.io"] });
  expect(parse(changed ?? "")).toEqual({ ...settings, exemptions: [{ vulnerability: "CVE-1" }], registries: ["ghcr.io", "docker.io"] });
  for (const kept of ["# ours", "# the only one", "# none", "customRules: |", "{critical: {total: 0}}"]) expect(changed).toContain(kept);
  const policy = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy # it\nspec:\n  settings:\n    registries: [a] # one\n";
  expect(parse(withSettings(policy, { registries: ["a", "b"] }) ?? "").spec.settings).toEqual({ registries: ["a", "b"] });
  expect(parse(withSettings("", { a: 1 }) ?? "")).toEqual({ a: 1 });
  expect(parse(withSettings("# nothing yet\n", { a: 1 }) ?? "")).toEqual({ a: 1 });
  expect(parse(withSettings("exemptions:\n  - a: 1\n", { exemptions: [{ b: 2 }, { a: 1 }] }) ?? "")).toEqual({ exemptions: [{ b: 2 }, { a: 1 }] });
});

test("what stands around the settings stays", () => {
  const objects = "apiVersion: v1\nkind: Namespace # first\nmetadata: {name: a}\n---\n# the policy\nkind: ClusterAdmissionPolicy\nspec:\n  mode: protect # on\n  settings:\n    # theirs\n    registries: [a]\n---\nkind: ConfigMap\n";
  const changed = withSettings(objects, { registries: ["a"], maxImages: 3 }) ?? "";
  for (const kept of ["kind: Namespace # first", "# the policy", "mode: protect # on", "# theirs", "registries: [a]", "maxImages: 3", "---\nkind: ConfigMap\n"]) expect(changed).toContain(kept);
  expect(changed.split("---").length).toBe(3);
  expect(withSettings("registries: [a] # one\n---\n", { registries: ["a", "b"] })).toContain("# one");
  expect(withSettings("a: [", {})).toBeUndefined();
  expect(withSettings('{\n  "registries": ["a"]\n}\n', { registries: [] })).toBe('{\n  "registries": []\n}\n');
});

test("settings are found wherever the policy reads them", () => {
  expect(withSettings("# hi", { a: 1 })).toBe("# hi\na: 1\n");
  expect(parse((withSettings("---\n# ours\n---\nmaxImages: 5\n", { maxImages: 6 }) ?? "").split("---\n").at(-1)!)).toEqual({ maxImages: 6 });
  const list = "apiVersion: v1\nkind: List\nitems:\n  - kind: ConfigMap\n  - kind: ClusterAdmissionPolicy # it\n    metadata: {name: x}\n    spec: {settings: {maxImages: 1}}\n";
  expect(new YamlText(list).settings()).toEqual({ maxImages: 1 });
  expect(parse(new YamlText(list).policy()!).metadata).toEqual({ name: "x" });
  const changed = withSettings(list, { maxImages: 2 }) ?? "";
  expect(parse(changed).items[1].spec.settings).toEqual({ maxImages: 2 });
  expect(changed).toContain("# it");
  const bare = "kind: ClusterAdmissionPolicy\nspec:\n";
  expect(parse(withSettings(bare, { maxImages: 2 }) ?? "").spec.settings).toEqual({ maxImages: 2 });
  expect(JSON.parse(withSettings('{"kind": "ClusterAdmissionPolicy"}', { maxImages: 2 }) ?? "").spec.settings).toEqual({ maxImages: 2 });
  expect(new YamlText("a: 1\n---\nb: 2\n").alone()).toBeUndefined();
});

test("items of lists keep their comments", () => {
  const text = "exemptions:\n    # the first\n    - id: 1 # one\n    # the second\n    - id: 2\n    # the third\n    - id: 3 # three\n";
  const list = (...ids: unknown[]) => withSettings(text, { exemptions: ids.map((id) => ({ id })) }) ?? "";
  expect(parse(list(1, 9, 3))).toEqual({ exemptions: [{ id: 1 }, { id: 9 }, { id: 3 }] });
  for (const kept of ["    # the first\n", "# one", "# the second", "# three"]) expect(list(1, 9, 3)).toContain(kept);
  expect(parse(list(1, 3))).toEqual({ exemptions: [{ id: 1 }, { id: 3 }] });
  expect(list(1, 3)).toContain("# three");
  expect(parse(list(0, 1, 2, 3, 4))).toEqual({ exemptions: [0, 1, 2, 3, 4].map((id) => ({ id })) });
  const flush = "a:\n- b: 1\n- c: 2\n";
  expect(withSettings(flush, { a: [{ b: 1 }, { c: 2 }, { d: 3 }] })).toBe("a:\n- b: 1\n- c: 2\n- d: 3\n");
});

test("objects of Lists and of requests are found where they stand", () => {
  const text = new YamlText("kind: List\nitems:\n  - spec: {image: a}\n  - spec:\n      image: b\n---\nspec: {image: c}\n---\napiVersion: admission.k8s.io/v1\nrequest:\n  uid: x\n  operation: CREATE\n  object:\n    spec: {image: d}\n");
  expect(text.objects()).toEqual(["a", "b", "c", "d"].map((image) => ({ spec: { image } })));
  expect([0, 1, 2, 3].map((index) => text.ofPointer(index, "/spec/image"))).toEqual([3, 5, 7, 14]);
  expect(text.asked().map(({ request }) => request !== undefined)).toEqual([false, false, false, true]);
});

test("a thousand objects are looked for once, and not once for each line that is asked for", () => {
  const items = Array.from({ length: 1000 }, (_, index) => `  - {kind: Pod, metadata: {name: p${index}}, spec: {containers: [{name: a, image: "a.example/b:${index}"}]}}\n`);
  const text = new YamlText(`kind: List\nitems:\n${items.join("")}`);
  const began = performance.now();
  expect(text.objects().map((_, index) => text.ofPointer(index, "/spec/containers/0/image")).at(-1)).toBe(1002);
  expect(performance.now() - began).toBeLessThan(1_000);
});

test("lines are found", () => {
  const lines = new YamlText("a:\n  b.c:\n    - d: 1\n    - d: 2\n---\nspec:\n  containers:\n    - image: x\n");
  expect(lines.ofPath("a.b.c[1].d")).toBe(4);
  expect(lines.ofPath("a.nothing")).toBe(1);
  expect(lines.ofPointer(1, "/spec/containers/0/image")).toBe(8);
  expect(lines.ofPointer(7, "/spec")).toBeUndefined();
  expect(new YamlText("a: [").ofPath("a")).toBeUndefined();
});

test("a link holds everything, and a broken one is refused", () => {
  for (const value of [{}, { files: { "a.yaml": "ü: \u0000 ".repeat(1000) } }, [1, null, "x"]]) {
    expect(decode(encode(value))).toEqual(value);
    expect(encode(value)).toMatch(/^[\w-]+$/);
  }
  for (const broken of ["", "!", "AAAA", encode({ a: 1 }).slice(0, -3)]) expect(() => decode(broken), broken).toThrow();
  expect(() => decode(encode("x".repeat(9 * 1024 * 1024)))).toThrow(/8 MiB/);
});

test("settings of a suite are patched as the suite says", () => {
  expect(patched({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: null, e: 3 }, d: [2] })).toEqual({ a: { c: 2, e: 3 }, d: [2] });
  const two = "kind: ClusterAdmissionPolicy\nmetadata: {name: a}\nspec: {settings: {maxImages: 1}}\n---\nkind: AdmissionPolicy\nmetadata: {name: b, namespace: n}\nspec: {settings: {maxImages: 2}}\n";
  expect(new YamlText(two).settings("n/b")).toEqual({ maxImages: 2 });
  expect(new YamlText("maxImages: 3\n").settings()).toEqual({ maxImages: 3 });
});
