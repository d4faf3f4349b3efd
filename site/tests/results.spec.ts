// What the page makes of what the engine says, on every case of the examples. Its types: no field is missing, none is left over,
// and each has its type, as TypeScript's compiler judges. What people take along, and the changes that they are offered.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@playwright/test";
import { root } from "../.vitepress/repository";
import { cases, isSuite, joined } from "../playground/examples";
import { unzipSync } from "fflate";
import { parse } from "yaml";
import type { Answer, Engine, Files } from "../playground/engine";
import type { Decision } from "../playground/results";
import { clusterAdmissionPolicy, folder } from "../playground/take";
import { withSettings, YamlText } from "../playground/text";
import { options, path, text, withText } from "../playground/workspace";

const manifest = readFileSync(join(root, "deploy/cluster-admission-policy.yaml"), "utf8");
const built = join(root, "target/playground-module");

/** The engine of the page, in this process. */
async function engine() {
  const { initSync, command } = await import(pathToFileURL(join(built, "image_admission_playground.js")).href);
  initSync({ module: readFileSync(join(built, "image_admission_playground_bg.wasm")) });
  const run = (args: string[], given: Files): Answer => {
    const { code, output, errors, files: paired } = command(args, Object.entries(given).flat());
    const files: Files = {};
    for (let index = 0; index + 1 < paired.length; index += 2) files[paired[index]] = paired[index + 1];
    return { id: 0, code, output, errors, files };
  };
  return { run, page: { run: async (args: string[], files: Files) => run(args, files) } as unknown as Engine };
}

/** The files of each example, as the page has them. */
function examples(): Files[] {
  const folders = readdirSync(join(root, "examples"), { withFileTypes: true }).filter((entry) => entry.isDirectory()).map(({ name }) => join(root, "examples", name));
  return folders.filter((folder) => readdirSync(folder).some(isSuite)).map((folder) => {
    const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => /\.\w+$/.test(path));
    return joined(Object.fromEntries(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")])));
  });
}

test("what is downloaded passes its own suite, and each change that is offered admits", async () => {
  test.setTimeout(240_000);
  const { run, page } = await engine();
  let [folders, changes] = [0, 0];
  for (const files of examples()) {
    for (const { name, workspace } of cases(files)) {
      if (text(workspace, "manifest") === "") continue;
      const answer = run(["run", "-o", "json", ...options(workspace)], workspace.files);
      if (answer.output === "") continue;
      const entries = Object.entries(unzipSync(await folder(workspace, JSON.parse(answer.output), page)));
      const taken = Object.fromEntries(entries.map(([path, bytes]) => [path.replace("image-admission/", ""), new TextDecoder().decode(bytes)]));
      expect(Object.keys(taken), name).toContain("decided_test.yaml");
      const tested = run(["test", "decided_test.yaml"], taken);
      expect(`${tested.code} ${tested.errors}`, `${name}\n${taken["decided_test.yaml"]}\n${tested.output}`).toBe("0 ");
      folders += 1;

      const [explanation] = JSON.parse(run(["explain", "-o", "json", ...options(workspace)], workspace.files).output);
      if (!explanation.change) continue;
      const before = text(workspace, "settings");
      const changed = withSettings(before, explanation.change.settings);
      expect(changed, name).toBeDefined();
      const comments = (all: string) => [...all.matchAll(/(?:^|\s)# .+/gm)].map(([comment]) => comment.trim());
      const inText = /[|>][+-]?\n/.test(before);
      if (!inText) expect(comments(changed!), name).toEqual(expect.arrayContaining(comments(before)));
      const mended = withText(workspace, "settings", changed!);
      const { output, errors } = run(["run", "-o", "json", ...options(mended)], mended.files);
      expect(JSON.parse(output).map(({ allowed }: Decision) => allowed), `${name}\n${changed}\n${errors}`).toEqual([true]);
      changes += 1;
    }
  }
  expect(folders).toBeGreaterThan(200);
  expect(changes).toBeGreaterThan(80);
});

test("what is downloaded passes, whatever was asked", async () => {
  const { run, page } = await engine();
  const demo = examples().find((files) => "bad-registry.yaml" in files)!;
  const workspace = cases(demo)[0]!.workspace;
  const pod = (name: string, namespace: string, more = "") => `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {containers: [{name: a, image: "localhost:5000/shop/legacy:1.4"}]${more}}\n`;
  const item = (text: string) => `  - ${text.trimEnd().replaceAll("\n", "\n    ")}\n`;
  const two = `${pod("a", "n1")}---\n${pod("a", "n2", ", securityContext: {runAsUser: 9007199254740993}")}`;
  const review = `apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest:\n  uid: x\n  kind: {group: "", version: v1, kind: Pod}\n  resource: {group: "", version: v1, resource: pods}\n  operation: CREATE\n  name: a\n  namespace: n1\n  userInfo: {}\n  object:\n    ${pod("a", "n1").replaceAll("\n", "\n    ")}\n`;
  for (const [manifest, old] of [[two, ""], [two, two], [pod("a", "n1"), two.split("---")[0]!], [`apiVersion: v1\nkind: List\nitems:\n${item(pod("a", "n"))}${item(pod("b", "n"))}`, ""], [review, ""]] as const) {
    let asked = withText(workspace, "manifest", manifest);
    if (old) asked = withText(asked, "old", old);
    asked = { ...asked, files: Object.fromEntries(Object.entries(asked.files).filter(([name]) => !isSuite(name))) };
    const decisions = JSON.parse(run(["run", "-o", "json", ...options(asked)], asked.files).output);
    const taken = Object.fromEntries(Object.entries(unzipSync(await folder(asked, decisions, page))).map(([name, bytes]) => [name.replace("image-admission/", ""), new TextDecoder().decode(bytes)]));
    const { code, errors, output } = run(["test", "decided_test.yaml"], taken);
    expect(`${code} ${errors}`, `${taken["decided_test.yaml"]}\n${output}`).toBe("0 ");
    if (manifest === two) expect(taken["decided_test.yaml"]).toContain("runAsUser: 9007199254740993");
  }
});

test("a policy that is copied has the settings as they are, and lint has no more to say of it", async () => {
  const { run, page } = await engine();
  for (const files of examples()) {
    const workspace = cases(files)[0]!.workspace;
    const policy = await clusterAdmissionPolicy(workspace, manifest, page);
    expect(parse(policy).spec.settings).toEqual(new YamlText(text(workspace, "settings")).settings());
    const { output } = run(["lint", "-o", "json", "policy.yaml"], { "policy.yaml": policy });
    expect(JSON.parse(output).filter(({ rule }: { rule: string }) => rule === "missing-kind"), policy).toEqual([]);
  }
  const wrong = { files: { "settings.yaml": "registris: [a]\n" }, shown: {}, request: { namespace: "", operation: "", subresource: "" } };
  await expect(clusterAdmissionPolicy(wrong, manifest, page)).rejects.toThrow(/not valid/);
  const several = { ...wrong, files: { "settings.yaml": "maxImages: 5\n---\nregistries: [quay.io]\n" } };
  await expect(clusterAdmissionPolicy(several, manifest, page)).rejects.toThrow(/several documents/);
});

test("the types are those of what the engine says", async () => {
  test.setTimeout(180_000);
  const { run } = await engine();
  const all: Record<string, Set<string>> = { Decision: new Set(), Explanation: new Set(), Problem: new Set(), CaseResult: new Set(), EvaluatedPolicy: new Set() };
  const add = (type: string, args: string[], files: Files) => {
    const { code, output, errors } = run(args, files);
    if (output === "") return expect(errors, `${args.join(" ")} ended with ${code} and says nothing`).not.toBe("");
    for (const entry of JSON.parse(output)) all[type]!.add(JSON.stringify(entry, null, 1));
  };
  for (const files of examples()) {
    add("CaseResult", ["test", "-o", "json", "."], files);
    for (const { workspace } of cases(files)) {
      add("Problem", ["lint", "-o", "json", path(workspace, "settings")], workspace.files);
      if (text(workspace, "manifest") === "") continue;
      add("Decision", ["run", "-o", "json", ...options(workspace)], workspace.files);
      add("Explanation", ["explain", "-o", "json", ...options(workspace)], workspace.files);
      add("EvaluatedPolicy", ["eval", "--show", "expressions", ...options(workspace)], workspace.files);
    }
  }
  add("CaseResult", ["test", "-o", "json", "a_test.yaml"], { "a_test.yaml": "tests:\n  - {name: a, settings: {preScanPolicies: {defaultPolicy: accept}}, object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}, expect: {verdict: rejected}}\n  - {name: b, object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}, expect: {verdict: allowed}}\n" });
  const folder = join(root, "target/site-types");
  mkdirSync(folder, { recursive: true });
  const lists = Object.entries(all).map(([type, entries]) => {
    expect(entries.size, type).toBeGreaterThan(3);
    return `export const all${type}: ${type}[] = [\n${[...entries].join(",\n")}\n];\n`;
  });
  const imports = `import type { ${Object.keys(all).join(", ")} } from "../../site/playground/results";\n`;
  writeFileSync(join(folder, "outputs.ts"), imports + lists.join("\n"));
  const compiler = join(root, "site/node_modules/typescript/bin/tsc");
  const check = () => execFileSync(process.execPath, [compiler, "--noEmit", "--strict", "--ignoreConfig", "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", join(folder, "outputs.ts")], { encoding: "utf8" });
  let said = "";
  try {
    check();
  } catch (error) {
    said = String((error as { stdout?: string }).stdout ?? error);
  }
  expect(said.slice(0, 3000)).toBe("");
});
