// What the site knows of the repository: where it is, which version it has, who publishes it, and which of its files are
// pages or are published beside them. Paths are relative to the repository's root, with `/`.

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const metadata = readFileSync(join(root, "policy-metadata.yml"), "utf8");

/** An annotation of policy-metadata.yml, read as `.ci/absolute-links` reads it. Empty where there is none. */
function annotation(name: string): string {
  return new RegExp(`^  io\\.kubewarden\\.policy\\.${name}: (.*)$`, "m").exec(metadata)?.[1].trim() ?? "";
}

export const version = annotation("version");
if (!version) throw new Error("policy-metadata.yml names no io.kubewarden.policy.version");

/** Where somebody who publishes the policy has its code. Empty until then. */
export const source = annotation("source").replace(/\/$/, "");

/** The text of a file. */
export const read = (path: string): string => readFileSync(join(root, path), "utf8");

export const isFile = (path: string): boolean => existsSync(join(root, path)) && statSync(join(root, path)).isFile();
export const isFolder = (path: string): boolean => existsSync(join(root, path)) && statSync(join(root, path)).isDirectory();

/** Whether a folder of `examples/` can be opened in the playground: its suite says what is decided. */
export const hasSuite = (path: string): boolean => isFolder(path) && readdirSync(join(root, path)).some((name) => /_test\.ya?ml$/.test(name));

/** The files of a folder and of the folders in it. */
function filesOf(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    return entry.isDirectory() ? filesOf(path) : [path];
  });
}

/** The markdown files that are pages of the site. The site is made of what people read in the repository. */
export const pages: readonly string[] = [
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "deploy/README.md",
  "examples/README.md",
  "tests/real-host/README.md",
  "site/playground.md",
  ...filesOf("docs").filter((path) => path.endsWith(".md")),
].sort();

/** Everything else that VitePress would find. Whole folders first: it doesn't look into those. */
export const noPages: string[] = [
  "!(docs|deploy|examples|tests|site|*.md)/**",
  "tests/!(real-host)/**",
  "site/*/**",
  "site/!(playground.md)",
];

/** The files that the site has as they are: people apply, start from or look up these. */
export const published: ReadonlySet<string> = new Set([
  "LICENSE",
  "action.yml",
  "install.sh",
  ".pre-commit-hooks.yaml",
  "policy-metadata.yml",
  "questions-ui.yml",
  "settings.schema.json",
  ...["deploy", "examples"].flatMap(filesOf).filter((path) => !path.endsWith(".md")),
]);

/** Where a page stands on the site: a folder's README.md is the folder's page. */
export function place(page: string): string {
  if (page === "site/playground.md") return "playground.md";
  return page.replace(/(^|\/)README\.md$/, "$1index.md");
}

/** The address of a page, without the site's base: `/docs/settings`, `/deploy/`. */
export function address(page: string): string {
  return `/${place(page).replace(/(^|\/)index\.md$/, "$1").replace(/\.md$/, "")}`;
}
