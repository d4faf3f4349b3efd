// The examples of the repository, read when the site is built: the files of each folder, and what examples/README.md says of it.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Example } from "./examples";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

declare const data: Example[];
export { data };

export default {
  watch: ["../../examples/**"],
  load(): Example[] {
    const readme = readFileSync(`${folder}README.md`, "utf8");
    const examples: Example[] = [];
    let group = "Start";
    for (const [, first = "", second = ""] of readme.matchAll(/^\| (.+?) \| (.*?) ?\|$/gmu)) {
      const heading = /^\*\*(.+)\*\*$/u.exec(first)?.[1];
      if (heading !== undefined) group = heading;
      const names = [...first.matchAll(/`([\w-]+)`/gu)].map(([, name = ""]) => name);
      for (const name of names) {
        const files = filesOf(name);
        const isExample = Object.keys(files).some((path) => path.endsWith("_test.yaml"));
        if (isExample) examples.push({ name, group, summary: second.replaceAll("`", ""), files });
      }
    }
    const missing = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("overlay-"))
      .filter((entry) => !examples.some(({ name }) => name === entry.name));
    if (missing.length > 0) throw new Error(`examples/README.md says nothing of ${missing.map(({ name }) => `\`${name}\``).join(", ")}`);
    return examples;
  },
};

/** The texts of a folder, by their paths in it. */
function filesOf(name: string): Example["files"] {
  const own = `${folder}${name}/`;
  const paths = readdirSync(own, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.replaceAll(/\/+/gu, "/").slice(own.length))
    .sort();
  return Object.fromEntries(paths.map((path) => [path, readFileSync(own + path, "utf8")]));
}
