// What the page is about: files, which of them the editors show, and how the request is made. All of it goes into a link.

import type { Files } from "./engine";

/** What a file is for. */
export type Role = "settings" | "manifest" | "images" | "cluster" | "suite" | "old" | "recording";

/** How a manifest becomes a request, as the options of `run` have it; empty: its default. */
export interface RequestOptions {
  namespace: string;
  operation: string;
  subresource: string;
}

export interface Workspace {
  files: Files;
  /** The file of each role. `old` is the object before an update, `recording` answers instead of images and cluster. */
  shown: Partial<Record<Role, string>>;
  request: RequestOptions;
}

/** Where a file stands that was never named. */
export const USUAL: Record<Role, string> = {
  settings: "settings.yaml",
  manifest: "manifest.yaml",
  images: "images.yaml",
  cluster: "cluster/objects.yaml",
  suite: "suite_test.yaml",
  old: "old.yaml",
  recording: "recording.yaml",
};

export const NO_OPTIONS: RequestOptions = { namespace: "", operation: "", subresource: "" };

/** The path of a role's file, named or not. */
export function path(workspace: Workspace, role: Role): string {
  return workspace.shown[role] ?? USUAL[role];
}

/** The text of a role's file; empty where there is none. */
export function text(workspace: Workspace, role: Role): string {
  const name = path(workspace, role);
  return Object.hasOwn(workspace.files, name) ? (workspace.files[name] ?? "") : "";
}

/** The same workspace with another text in a role's file. */
export function withText(workspace: Workspace, role: Role, text: string): Workspace {
  const name = path(workspace, role);
  return { ...workspace, files: { ...workspace.files, [name]: text }, shown: { ...workspace.shown, [role]: name } };
}

/** The folder of a path; empty: none. */
export function folder(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

/** Whether a file says anything: comments and blanks don't. */
export function isWritten(text: string): boolean {
  return text.split("\n").some((line) => line.trim() !== "" && !line.trimStart().startsWith("#"));
}

/** The options for what is decided, and who answers, as `run`, `explain` and `eval` take them. */
export function options(workspace: Workspace): string[] {
  const { request, shown } = workspace;
  const args = ["-f", path(workspace, "manifest")];
  if (isWritten(text(workspace, "settings"))) args.push("--settings", path(workspace, "settings"));
  if (request.namespace) args.push(`--namespace=${request.namespace}`);
  if (request.subresource) args.push(`--subresource=${request.subresource}`);
  const old = shown.old !== undefined && isWritten(text(workspace, "old"));
  if (old) args.push("--old", path(workspace, "old"));
  // With an old object it is an update, and nothing else.
  else if (request.operation || shown.old !== undefined) args.push(`--operation=${request.operation || "update"}`);
  if (shown.recording !== undefined) return [...args, "--replay", path(workspace, "recording")];
  if (isWritten(text(workspace, "images"))) args.push("--images", path(workspace, "images"));
  const cluster = folder(path(workspace, "cluster"));
  if (cluster !== "" && isWritten(text(workspace, "cluster"))) args.push("--cluster", cluster);
  return args;
}
