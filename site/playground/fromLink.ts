// What a link holds, as a workspace: all of one, or what a guide shows. Nothing in a link is believed.

import type { Files } from "./engine";
import { casesOf, isSuite, joined } from "./examples";
import { map } from "./text";
import { NO_OPTIONS, USUAL, type Workspace, withText } from "./workspace";

/** A workspace of what a link holds: all of one, or a part of an example. What it leaves out is the demo's. */
export function read(value: unknown, base: Workspace): Workspace {
  const given = map(value);
  if (given.files !== undefined && given.shown !== undefined) {
    const shown = Object.entries(texts(given.shown)).filter(([role, path]) => Object.hasOwn(USUAL, role) && isPath(path));
    return { files: files(given.files), shown: Object.fromEntries(shown), request: { ...NO_OPTIONS, ...texts(given.request) } };
  }
  return fromGuide(given, base);
}

/** What a guide has: settings or a suite, and the files of its page. The rest is the demo's, but for its suite, which is of other settings. */
function fromGuide(given: Record<string, unknown>, base: Workspace): Workspace {
  const own = joined(files(given.files));
  if (typeof given.suite === "string") {
    const all = { ...own, [USUAL.suite]: given.suite };
    return casesOf(USUAL.suite, all)[0]?.workspace ?? { ...base, files: { ...base.files, ...all }, shown: { ...base.shown, suite: USUAL.suite } };
  }
  const { suite: _, ...shown } = base.shown;
  const rest = Object.fromEntries(Object.entries(base.files).filter(([name]) => !isSuite(name)));
  let workspace: Workspace = { ...base, files: { ...rest, ...own }, shown };
  for (const role of ["manifest", "images", "cluster"] as const) {
    const file = Object.keys(own).find((name) => (role === "manifest" ? /(^|\/)(pod|deployment)\.yaml$/u.test(name) : name === USUAL[role]));
    if (file !== undefined) workspace = { ...workspace, shown: { ...workspace.shown, [role]: file } };
  }
  return typeof given.settings === "string" ? withText({ ...workspace, shown: { ...workspace.shown, settings: USUAL.settings } }, "settings", given.settings) : workspace;
}

/** Files by paths that stay where they are put. */
function files(value: unknown): Files {
  return Object.fromEntries(Object.entries(texts(value)).filter(([path]) => isPath(path)));
}

/** Whether it is the path of a file in a folder, and nothing that leads out of it or reads like an option. */
function isPath(path: string): boolean {
  return /^[^\p{Cc}\\]{1,200}$/u.test(path) && path.split("/").every((step) => step !== "" && step !== "." && step !== ".." && step !== "__proto__" && !step.startsWith("-"));
}

function texts(value: unknown): Record<string, string> {
  const own = Object.entries(map(value)).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(own);
}
