// What a page gets from the module: the engine's answers byte for byte, and the command line's whole output.
//
//     node --test crates/playground/tests     after `make playground`; `make playground-tests` does both

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const built = join(root, "target/playground-module");
const { initSync, command, validate, validateSettings } = await import(join(built, "image_admission_playground.js"));
const module = readFileSync(join(built, "image_admission_playground_bg.wasm"));
initSync({ module });

const bytes = (text) => new TextEncoder().encode(text);
const text = (some) => new TextDecoder().decode(some);

/// Every file in and below a folder: its path from the root, and its text.
function files(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((path) => [relative(root, path), readFileSync(path, "utf8")]);
}

test("every case is answered as the engine answers it elsewhere, byte for byte", () => {
  const cases = readFileSync(join(root, "target/playground-cases.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(cases.length > 400, `${cases.length} cases`);
  for (const { name, payload, seconds, calls, response } of cases) {
    let next = 0;
    const host = (namespace, operation, asked) => {
      const call = calls[next++];
      assert.deepEqual([namespace, operation, text(asked)], [call?.namespace, call?.operation, call?.payload], name);
      if (call.failure !== null) throw new Error(call.failure);
      return bytes(call.answer);
    };
    assert.equal(text(validate(bytes(payload), host, seconds)), response, name);
    assert.equal(next, calls.length, `${name}: calls`);
  }
});

test("the demo says what the README's picture shows", () => {
  const { code, output } = command(
    ["explain", "examples/demo/rejected.yaml", "--settings", "examples/demo/settings.yaml", "--images", "examples/demo/images.yaml", "--cluster", "examples/demo/cluster"],
    files("examples/demo"),
  );
  assert.equal(code, 2);
  const picture = readFileSync(join(root, "docs/images/rejection.svg"), "utf8").replace(/<style>.*?<\/style>/s, "");
  const drawn = picture.replace(/<[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  // What it proposes ends in a month.
  const withoutBlanks = (text) => text.replace(/\s+/g, "").replace(/(until|expires:)\d{4}-\d\d-\d\d/g, "$1");
  assert.ok(withoutBlanks(drawn).includes(withoutBlanks(output)), output);
});

test("every suite of the examples passes", () => {
  const { code, output, errors } = command(["test", "examples"], files("examples"));
  assert.equal(code, 0, errors + output);
  assert.match(output, /PASS: \d{3}\/\d{3}/);
});

test("what lint and explain say is there as JSON", () => {
  const settings = ["settings.yaml", "registries: [ghcr.io]\nscanPolicy: 1\n"];
  const refused = command(["lint", "-o", "json", "settings.yaml"], settings);
  assert.notEqual(refused.code, 0);
  assert.match(refused.output + refused.errors, /scanPolicy/);
  const explained = command(
    ["explain", "-o", "json", "-f", "examples/demo/rejected.yaml", "--settings", "examples/demo/settings.yaml", "--images", "examples/demo/images.yaml", "--cluster", "examples/demo/cluster"],
    files("examples/demo"),
  );
  assert.equal(explained.code, 2, explained.errors);
  assert.ok(JSON.parse(explained.output));
});

test("what a command wrote comes back, and nothing else", () => {
  const settings = "registries: [ghcr.io]\npreScanPolicies:\n  customPolicies:\n    - {prefix: ghcr.io, action: accept} # ours\n";
  const mounted = ["./settings.yaml", settings, "other.yaml", "registries: [ghcr.io]\n"];
  const fixed = command(["lint", "--fix", "settings.yaml", "other.yaml"], mounted);
  assert.deepEqual(fixed.files, ["settings.yaml", settings.replace("prefix: ghcr.io,", "prefix: ghcr.io/,")], fixed.errors);
  assert.deepEqual(command(["lint", "--diff", "settings.yaml"], mounted).files, []);
  assert.deepEqual(command(["lint", "--fix", "settings.yaml"], fixed.files).files, []);
});

test("whatever comes in, an answer comes out", () => {
  for (const bad of ["", "{", "[]", "null", '"x"', '{"request":1}', '{"request":{},"settings":[]}', "\u0000", "[".repeat(100_000)]) {
    const answer = JSON.parse(text(validate(bytes(bad), () => bytes("{}"), 0)));
    assert.equal(answer.accepted, false, bad.slice(0, 20));
    assert.equal(typeof JSON.parse(text(validateSettings(bytes(bad)))).valid, "boolean");
  }
  for (const args of [[], ["nonsense"], ["run"], ["run", "-f", "missing.yaml"], ["test", "nowhere"], ["run", "-f", "-"], ["run", "--live", "-f", "x"], ["bench"], ["audit", "-f", "."]]) {
    const { code, errors, output } = command(args, []);
    assert.ok(code >= 0 && (errors + output).length > 0, args.join(" "));
  }
});

test("a rule that loops is stopped, and the next one is decided", () => {
  const settings = JSON.stringify({ regoPolicies: [{ name: "loops", kinds: ["*"], rego: "package p\ndeny[msg] { numbers.range(1, 4000)[_] > 0; numbers.range(1, 4000)[_] > 0; false; msg := \"x\" }" }] });
  const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec: {containers: [{name: c, image: "a/b:1"}]}\n';
  const started = performance.now();
  const { code, output, errors } = command(["run", "-f", "pod.yaml", "--settings", "settings.json"], ["pod.yaml", pod, "settings.json", settings]);
  assert.notEqual(code, 0, output + errors);
  assert.match(output + errors, /stopped|loops/);
  assert.ok(performance.now() - started < 10_000, `${performance.now() - started} ms`);
});

test("the module is small enough to be loaded by a page", () => {
  const packed = gzipSync(module).length;
  assert.ok(packed < 2_750_000, `${packed} bytes`);
});
