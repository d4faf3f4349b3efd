// Writes what stands above the versions of the site: versions.json, which lists them; index.html, which leads to the newest;
// its page for what is missing. It needs nothing but Node, so that `.ci/site-branch` can call it too.
//
//     node site/versions.mjs target/site

import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { pathToFileURL } from "node:url";

/** The order of versions, the newest first. One with a suffix, `1.0.0-rc.1`, comes before the one without. */
function newestFirst(a, b) {
  const [[left, leftSuffix], [right, rightSuffix]] = [a, b].map((version) => version.split(/-(.*)/s));
  const compare = (one, other) => one.localeCompare(other, "en", { numeric: true });
  if (left !== right) return compare(right, left);
  if (!leftSuffix || !rightSuffix) return leftSuffix ? 1 : -1;
  return compare(rightSuffix, leftSuffix);
}

/** Writes them for the folders `v<version>` of a folder. */
export function writeVersions(folder) {
  const versions = readdirSync(folder)
    .filter((name) => /^v\d+\.\d+\.\d+(-[\w.]+)?$/.test(name))
    .map((name) => name.slice(1))
    .sort(newestFirst);
  if (versions.length === 0) throw new Error(`${folder} has no folder of a version`);
  const newest = `v${versions[0]}`;
  const files = {
    "versions.json": `${JSON.stringify(versions)}\n`,
    "index.html": `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'">
    <meta http-equiv="refresh" content="0; url=${newest}/">
    <meta name="viewport" content="width=device-width,initial-scale=1">
    <link rel="icon" href="data:,">
    <title>image-admission</title>
  </head>
  <body>
    <p><a href="${newest}/">image-admission ${newest}</a></p>
  </body>
</html>
`,
    // GitHub Pages would leave files out, and fill others in, without this.
    ".nojekyll": "",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  // Hosts look for it at the top, and nowhere else. Its addresses are absolute.
  copyFileSync(join(folder, newest, "404.html"), join(folder, "404.html"));
}

if (import.meta.url === pathToFileURL(argv[1] ?? "").href) writeVersions(argv[2]);
