// What people take with them: a ClusterAdmissionPolicy with their settings, and a folder with a suite.

import { strToU8, zipSync } from "fflate";
import { type Node, parseDocument, stringify } from "yaml";
import type { Engine, Files } from "./engine";
import type { Decision } from "./results";
import { YamlText } from "./text";
import { isWritten, options, path, text, type Workspace } from "./workspace";

/** Codes that `lint` ends with: 0 where it remarks nothing, 2 where it does. Any other, and there are no settings. */
const LOOKED_AT = [0, 2];

/**
 * A manifest, that of `deploy/`, with these settings, and with the kinds that they have read. Settings that stand in a policy's
 * manifest already stay in their own. Throws what is wrong with them.
 */
export async function clusterAdmissionPolicy(workspace: Workspace, manifest: string, engine: Engine): Promise<string> {
  const own = text(workspace, "settings");
  const found = new YamlText(own);
  const policy = found.policy();
  const settings = isWritten(own) ? found.alone() : parseDocument("");
  if (policy === undefined && settings === undefined) throw new Error("there are several documents: keep the one with the settings");
  if (isWritten(own)) {
    const { code } = await engine.run(["lint", path(workspace, "settings")], workspace.files);
    if (!LOOKED_AT.includes(code)) throw new Error("the settings are not valid: mend them first");
  }
  if (settings === undefined || policy !== undefined) return policy ?? own;
  const written = parseDocument(manifest);
  written.setIn(["spec", "contextAwareResources"], written.createNode([]));
  // With the comments of both: what stands behind the last key belongs to the document.
  const contents = (settings.contents ?? written.createNode({})) as Node;
  contents.commentBefore = [settings.commentBefore, contents.commentBefore].filter(Boolean).join("\n") || null;
  contents.comment = [contents.comment, settings.comment].filter(Boolean).join("\n") || null;
  written.setIn(["spec", "settings"], contents);
  const file = "cluster-admission-policy.yaml";
  const { files, code } = await engine.run(["lint", "--fix", file], { [file]: written.toString({ lineWidth: 0 }) });
  if (!LOOKED_AT.includes(code)) throw new Error("the settings are not valid: mend them first");
  // Nothing else is mended: these are the settings as they are.
  const granted = parseDocument(files[file] ?? "").getIn(["spec", "contextAwareResources"], true);
  if (granted !== undefined) written.setIn(["spec", "contextAwareResources"], granted);
  return written.toString({ lineWidth: 0 });
}

/** The files as they are, with a suite that says what was decided now and what was answered; zipped. */
export async function folder(workspace: Workspace, decisions: Decision[], engine: Engine): Promise<Uint8Array<ArrayBuffer>> {
  const files: Files = { ...workspace.files };
  const lines = [`$ image-admission ${["run", ...options(workspace)].map(quoted).join(" ")}`];
  if (decisions.length > 0 && decisions.every(({ allowed }) => allowed !== undefined)) {
    const recording = "decided-answers.yaml";
    const answered = workspace.shown.recording ?? recording;
    if (workspace.shown.recording === undefined) {
      const { files: written } = await engine.run(["run", "-o", "json", ...options(workspace), "--record", recording], workspace.files);
      // What is asked twice is answered once.
      const exchanges = new Set((written[recording] ?? "").split(/^(?=- )/mu));
      if (exchanges.size > 0) files[recording] = [...exchanges].join("");
    }
    const cases = suite(workspace, decisions, Object.hasOwn(files, answered) && isWritten(files[answered] ?? "") && files[answered]?.trim() !== "[]" ? answered : undefined);
    if (cases !== undefined) {
      files["decided_test.yaml"] = cases;
      lines.push("$ image-admission test decided_test.yaml");
    }
  }
  files["README.md"] = `# From the playground\n\n\`\`\`console\n${lines.join("\n")}\n\`\`\`\n`;
  const entries = Object.entries(files).filter(([, content]) => content.trim() !== "");
  return zipSync(Object.fromEntries(entries.map(([name, content]) => [`image-admission/${name}`, strToU8(content)])), { mtime: "1980-01-01" });
}

/** An argument as a shell takes it. */
function quoted(argument: string): string {
  return /^[\w./:=-]+$/u.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}

/** A suite of what was decided: a case for each object. None where it can't be told which object is which. */
function suite(workspace: Workspace, decisions: Decision[], recording: string | undefined): string | undefined {
  const asked = new YamlText(text(workspace, "manifest"), true).asked();
  if (asked.length !== decisions.length) return undefined;
  const { namespace, operation, subresource } = workspace.request;
  const old = workspace.shown.old !== undefined && isWritten(text(workspace, "old"));
  const before = old ? new YamlText(text(workspace, "old"), true).objects() : [];
  const options = {
    ...(namespace ? { namespace } : {}),
    ...(old && before.length === 1 ? { oldObject: path(workspace, "old") } : operation && !old ? { operation: operation.toUpperCase() } : {}),
    ...(subresource ? { subResource: subresource } : {}),
  };
  const names = new Set<string>();
  const same = (one: unknown, other: unknown) => identity(one) === identity(other);
  const cases = decisions.map((decision, index) => {
    const { object, request, isAlone } = asked[index]!;
    const { kind, name } = decision.request;
    let title = `${kind} ${name} is ${decision.allowed ? "admitted" : "rejected"}`;
    if (names.has(title)) title += ` (${index + 1})`;
    names.add(title);
    return {
      name: title,
      ...(request !== undefined ? { request } : { ...(isAlone ? { manifest: path(workspace, "manifest") } : { object }), ...options, ...(before.length > 1 ? { oldObject: before.find((own) => same(own, object)) } : {}) }),
      expect: {
        verdict: decision.allowed ? "allowed" : "rejected",
        ...(decision.allowed ? {} : { message: decision.message }),
        ...(decision.warnings.length > 0 ? { warnings: decision.warnings } : {}),
        ...(decision.mutatedObject === undefined ? {} : { mutated: true }),
      },
    };
  });
  const shared = {
    ...(isWritten(text(workspace, "settings")) ? { settings: path(workspace, "settings") } : {}),
    ...(recording === undefined ? {} : { replay: recording }),
  };
  return stringify({ ...shared, tests: cases }, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** What tells objects of a cluster apart. */
function identity(object: unknown): string {
  const { kind, metadata } = (object ?? {}) as { kind?: unknown; metadata?: { name?: unknown; namespace?: unknown } };
  return JSON.stringify([kind, metadata?.namespace, metadata?.name].map(String));
}

/** Has the browser save a file. */
export function save(name: string, content: Uint8Array<ArrayBuffer>): void {
  const address = URL.createObjectURL(new Blob([content], { type: "application/zip" }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
