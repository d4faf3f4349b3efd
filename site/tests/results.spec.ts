// The types of playground/results.ts against what the engine really says: of every case of the examples, no field is missing,
// none is left over, and each has its type. The compiler of TypeScript is the judge.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@playwright/test";
import { root } from "../.vitepress/repository";
import { cases, isSuite, joined } from "../playground/examples";
import { options, path, text } from "../playground/workspace";

const built = join(root, "target/playground-module");

test("the types are those of what the engine says", async () => {
  test.setTimeout(180_000);
  const { initSync, command } = await import(pathToFileURL(join(built, "image_admission_playground.js")).href);
  initSync({ module: readFileSync(join(built, "image_admission_playground_bg.wasm")) });
  const all: Record<string, Set<string>> = { Decision: new Set(), Explanation: new Set(), Problem: new Set(), CaseResult: new Set(), EvaluatedPolicy: new Set() };
  const add = (type: string, args: string[], files: Record<string, string>) => {
    const { code, output, errors } = command(args, Object.entries(files).flat());
    if (output === "") return expect(errors, `${args.join(" ")} ended with ${code} and says nothing`).not.toBe("");
    for (const entry of JSON.parse(output)) all[type]!.add(JSON.stringify(entry, null, 1));
  };
  for (const folder of readdirSync(join(root, "examples"))) {
    if (!folder.includes(".") && readdirSync(join(root, "examples", folder)).some(isSuite)) {
      const paths = readdirSync(join(root, "examples", folder), { recursive: true, encoding: "utf8" }).filter((path) => /\.\w+$/.test(path));
      const files = joined(Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, "examples", folder, path), "utf8")])));
      add("CaseResult", ["test", "-o", "json", "."], files);
      for (const { workspace } of cases(files)) {
        add("Problem", ["lint", "-o", "json", path(workspace, "settings")], workspace.files);
        if (text(workspace, "manifest") === "") continue;
        add("Decision", ["run", "-o", "json", ...options(workspace)], workspace.files);
        add("Explanation", ["explain", "-o", "json", ...options(workspace)], workspace.files);
        add("EvaluatedPolicy", ["eval", "--show", "expressions", ...options(workspace)], workspace.files);
      }
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
