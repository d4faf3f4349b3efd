// The examples of the repository: each is a folder with a suite, whose cases can be opened in the editors.

import { parseDocument, stringify } from "yaml";
import type { Files } from "./engine";
import { map, YamlText } from "./text";
import { type Role, type Workspace, NO_OPTIONS, USUAL, folder } from "./workspace";

/** A folder of `examples/`. */
export interface Example {
  name: string;
  /** What it shows, and below which heading: examples/README.md says so. */
  summary: string;
  group: string;
  files: Files;
}

/** A case of a suite. */
export interface Case {
  name: string;
  verdict: string;
  workspace: Workspace;
}

/** The files of a folder as the editors have them: all objects of a cluster in one file. */
export function joined(files: Files): Files {
  const result: Files = Object.create(null);
  for (const [path, content] of Object.entries(files)) {
    const inside = folder(path);
    const target = inside === "" ? path : `${inside}/objects.yaml`;
    const before = result[target];
    result[target] = before === undefined ? content : `${before.trimEnd()}\n---\n${content}`;
  }
  return result;
}

export function isSuite(path: string): boolean {
  return /_test\.ya?ml$/.test(path);
}

/** The cases of all suites of a folder, in order. What is no suite has none: its own problems are told when it is run. */
export function cases(files: Files): Case[] {
  return Object.keys(files).filter(isSuite).flatMap((suite) => casesOf(suite, files));
}

/** The cases of one suite. */
export function casesOf(suite: string, files: Files): Case[] {
  const shared = map(parsed(files[suite] ?? ""));
  const tests = Array.isArray(shared.tests) ? shared.tests : [];
  return tests.map(map).map((own, index) => ({
    name: String(own.name ?? `case ${index + 1}`),
    verdict: String(map(own.expect).verdict ?? ""),
    workspace: workspaceOf(shared, own, suite, files),
  }));
}

/** The editors' files for a case: those that it names, and what the suite itself has, written out. */
function workspaceOf(shared: Plain, own: Plain, suite: string, files: Files): Workspace {
  const result: Workspace = { files: { ...files }, shown: { suite }, request: { ...NO_OPTIONS } };
  const beside = (path: string) => (folder(suite) === "" ? path : `${folder(suite)}/${path}`);
  const write = (role: Role, text: string) => {
    const path = `case/${USUAL[role]}`;
    result.files[path] = text;
    result.shown[role] = path;
  };
  const show = (role: Role, value: unknown) => {
    if (typeof value === "string") result.shown[role] = beside(value);
    else if (value !== undefined) write(role, yaml(value));
  };
  const file = (value: unknown) => (typeof value === "string" ? (files[beside(value)] ?? "") : yaml(value));

  const settings = own.settings ?? shared.settings ?? {};
  const policy = String((own.settings === undefined ? shared : own).settingsOf ?? "");
  if (own.settingsPatch === undefined && policy === "") show("settings", settings);
  else write("settings", yaml(patched(new YamlText(file(settings)).settings(policy), own.settingsPatch ?? {})));

  if (own.userInfo !== undefined || own.dryRun !== undefined) {
    write("manifest", yaml(requestOf(map(parsed(file(own.object ?? own.manifest))), own)));
  } else {
    show("manifest", own.request ?? own.object ?? own.manifest);
    show("old", own.oldObject);
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    result.request = { namespace: text(own.namespace), operation: text(own.operation).toLowerCase(), subresource: text(own.subResource) };
  }

  const { images = own.replay === undefined ? shared.images : undefined, cluster = own.replay === undefined ? shared.cluster : undefined } = own;
  const recorded = own.replay ?? (own.images === undefined && own.cluster === undefined ? shared.replay : undefined);
  if (recorded !== undefined) show("recording", recorded);
  show("images", images ?? {});
  if (typeof cluster === "string") result.shown.cluster = `${beside(cluster).replace(/\/$/, "")}/objects.yaml`;
  else write("cluster", "");
  return result;
}

type Plain = Record<string, unknown>;

/** A value as the text of a file; nothing is an empty one. */
function yaml(value: unknown): string {
  const isEmpty = Object.keys(map(value)).length === 0;
  return isEmpty ? "" : stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** The value of a text; null where it is no YAML, which the policy tells. */
function parsed(text: string): unknown {
  const document = parseDocument(text, { merge: true });
  return document.errors.length > 0 ? null : document.toJS({ maxAliasCount: 1000 });
}

/** A JSON merge patch, RFC 7396. */
export function patched(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: Plain = { ...map(target) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = patched(result[key], value);
  }
  return result;
}

/** A request by somebody, which a manifest alone can't say. */
function requestOf(object: Plain, own: Plain): Plain {
  const [group, version] = String(object.apiVersion ?? "v1").includes("/") ? String(object.apiVersion).split("/") : ["", object.apiVersion];
  const { name = "", namespace } = map(object.metadata);
  const kind = String(object.kind ?? "");
  return {
    uid: "00000000-0000-0000-0000-000000000000",
    kind: { group, version, kind },
    resource: { group, version, resource: `${kind.toLowerCase()}s` },
    name,
    namespace: namespace ?? own.namespace ?? "default",
    operation: own.operation ?? (own.oldObject === undefined ? "CREATE" : "UPDATE"),
    userInfo: own.userInfo ?? {},
    ...(own.dryRun === undefined ? {} : { dryRun: own.dryRun }),
    object,
    ...(own.oldObject === undefined ? {} : { oldObject: own.oldObject }),
  };
}
