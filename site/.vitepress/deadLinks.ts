// A look at the whole built site: each link leads to something that is there, down to the heading, and no page loads
// anything from another host. VitePress' own check knows pages, but no files and no headings.

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, posix, relative } from "node:path";

/** All files of the folder, by their ending. */
function find(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending))
    .map((path) => join(folder, path))
    .sort();
}

/** The elements of a page with their attributes, without what scripts hold. */
function elements(html: string): Array<{ name: string; attributes: Map<string, string> }> {
  const rest = html.replace(/(<script[^>]*>)[\s\S]*?<\/script>/g, "$1");
  return [...rest.matchAll(/<([a-z][\w-]*)((?:\s+[^\s=>]+(?:="[^"]*")?)*)\s*\/?>/gi)].map(([, name, attributes]) => ({
    name,
    attributes: new Map(
      [...attributes.matchAll(/([^\s=]+)="([^"]*)"/g)].map(([, key, value]) => [key, value.replaceAll("&amp;", "&")]),
    ),
  }));
}

/** Throws, with every problem, unless the site that stands at `base` of its host is sound. */
export function checkSite(site: string, base: string): void {
  const problems: string[] = [];
  const pages = new Map(
    find(site, ".html").map((file) => [file, elements(readFileSync(file, "utf8"))] as const),
  );
  const ids = new Map(
    [...pages].map(([file, found]) => [file, new Set(found.flatMap(({ attributes }) => attributes.get("id") ?? []))]),
  );

  /** The file that a server sends for a path of the site. */
  function served(path: string): string | undefined {
    const file = join(site, decodeURIComponent(path.slice(base.length)));
    const candidates = path.endsWith("/") ? [join(file, "index.html")] : [file, `${file}.html`];
    return candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile());
  }

  function look(url: string, from: string, mayLeave: boolean): void {
    if (url.startsWith("data:") || url.startsWith("mailto:")) return;
    const place = base + posix.normalize(relative(site, from));
    const { origin, pathname, hash } = new URL(url, `http://site.invalid${place}`);
    const name = relative(site, from);
    if (origin !== "http://site.invalid") {
      if (!mayLeave) problems.push(`${name}: loads ${url} from another host`);
      return;
    }
    const file = pathname.startsWith(base) ? served(pathname) : undefined;
    if (!file) {
      problems.push(`${name}: ${url} leads to nothing`);
    } else if (hash && pathname !== `${base}playground`) {
      // What follows # in an address of the playground is what it opens.
      if (!ids.get(file)?.has(decodeURIComponent(hash.slice(1)))) problems.push(`${name}: ${url} leads to no heading`);
    }
  }

  for (const [file, found] of pages) {
    for (const { name, attributes } of found) {
      for (const key of ["href", "src", "poster", "data"]) {
        const url = attributes.get(key);
        if (url !== undefined) look(url, file, name === "a" && key === "href");
      }
      for (const [, url] of (attributes.get("style") ?? "").matchAll(/url\((?:&quot;|'|")?([^)'"&]+)/g)) look(url, file, false);
    }
  }
  for (const file of find(site, ".css")) {
    const css = readFileSync(file, "utf8");
    for (const [, url] of css.matchAll(/(?:url\(\s*["']?|@import\s+["'])([^"')]+)/g)) {
      // What begins with # is a part of the picture that has it.
      if (!url.startsWith("#")) look(url, file, false);
    }
  }
  // Addresses in scripts are data, such as what the playground's examples name, unless something is loaded from them.
  const loading = /(?:\bfetch|\bimport|\bimportScripts|\bnew (?:Worker|WebSocket|EventSource|Request)|\bsendBeacon)\s*\(\s*["'`]((?:https?|wss?):\/\/[^"'`]*)|\b(?:from|import)\s*["']((?:https?:)?\/\/[^"']+)/g;
  for (const file of [...find(site, ".js"), ...pages.keys()]) {
    for (const [, loaded, imported] of readFileSync(file, "utf8").matchAll(loading)) {
      problems.push(`${relative(site, file)}: loads ${loaded ?? imported} from another host`);
    }
  }
  if (problems.length > 0) throw new Error(`the built site has problems:\n${[...new Set(problems)].join("\n")}`);
}
