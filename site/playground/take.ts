// What people take with them: a ClusterAdmissionPolicy with their settings, and a folder with a suite.

import { strToU8, zipSync } from "fflate";
import { isMap, parseDocument, stringify } from "yaml";
import manifest from "../../deploy/cluster-admission-policy.yaml?raw";
import type { Engine, Files } from "./engine";
import type { Decision } from "./results";
import { options, path, text, type Workspace } from "./workspace";

/** The manifest of `deploy/` with these settings, and with the kinds that they have read. Settings in a manifest stay in their own. */
export async function clusterAdmissionPolicy(workspace: Workspace, engine: Engine): Promise<string> {
  const own = parseDocument(text(workspace, "settings"));
  if (own.errors.length > 0) throw new Error("the settings are not YAML");
  if (isMap(own.contents) && String(own.get("kind")).endsWith("AdmissionPolicy")) return text(workspace, "settings");
  const policy = parseDocument(manifest);
  policy.setIn(["spec", "contextAwareResources"], policy.createNode([]));
  // With the comments of both.
  policy.setIn(["spec", "settings"], own.contents ?? policy.createNode({}));
  const file = "cluster-admission-policy.yaml";
  const written = policy.toString({ lineWidth: 0 });
  const answer = await engine.run(["lint", "--fix", file], { ...workspace.files, [file]: written });
  return answer.files[file] ?? written;
}

/** The files as they are, with a suite that says what was decided now; zipped. */
export function folder(workspace: Workspace, decisions: Decision[]): Uint8Array<ArrayBuffer> {
  const files: Files = { ...workspace.files };
  const [decision] = decisions;
  if (text(workspace, "suite").trim() === "" && decision?.allowed !== undefined) files["suite_test.yaml"] = suite(workspace, decision);
  files["README.md"] = README.replace("RUN", ["run", ...options(workspace)].join(" "));
  const entries = Object.entries(files).filter(([, content]) => content.trim() !== "");
  return zipSync(Object.fromEntries(entries.map(([name, content]) => [`image-admission/${name}`, strToU8(content)])), { mtime: "1980-01-01" });
}

const README = `# From the playground

\`\`\`console
$ image-admission RUN
$ image-admission test .
\`\`\`
`;

/** A suite of the one case that the page shows. */
function suite(workspace: Workspace, decision: Decision): string {
  const args = options(workspace);
  const option = (name: string) => args[args.indexOf(name) + 1];
  const has = (name: string) => args.includes(name);
  const { namespace, operation, subresource } = workspace.request;
  return stringify(
    {
      ...(has("--settings") ? { settings: option("--settings") } : {}),
      ...(has("--images") ? { images: option("--images") } : {}),
      ...(has("--cluster") ? { cluster: option("--cluster") } : {}),
      ...(has("--replay") ? { replay: option("--replay") } : {}),
      tests: [
        {
          name: `${decision.request.kind} ${decision.request.name} is ${decision.allowed ? "admitted" : "rejected"}`,
          manifest: path(workspace, "manifest"),
          ...(namespace ? { namespace } : {}),
          ...(operation && !has("--old") ? { operation: operation.toUpperCase() } : {}),
          ...(has("--old") ? { oldObject: option("--old") } : {}),
          ...(subresource ? { subResource: subresource } : {}),
          expect: {
            verdict: decision.allowed ? "allowed" : "rejected",
            ...(decision.allowed ? {} : { message: decision.message }),
            ...(decision.warnings.length > 0 ? { warnings: decision.warnings } : {}),
            ...(decision.mutatedObject === undefined ? {} : { mutated: true }),
          },
        },
      ],
    },
    { lineWidth: 0 },
  );
}

/** Has the browser save a file. */
export function save(name: string, content: Uint8Array<ArrayBuffer>): void {
  const address = URL.createObjectURL(new Blob([content], { type: "application/zip" }));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
