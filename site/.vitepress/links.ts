// Where links lead. In the repository they are relative to the file that has them, and lead to files. On the site a page's
// file is a page, an example is a workspace of the playground, and code is where somebody publishes it.

import { posix } from "node:path";
import { slug } from "github-slugger";
import type { MarkdownEnv, MarkdownRenderer } from "vitepress";
import { address, hasSuite, isFile, isFolder, pages, published, root, source, version } from "./repository";

/** Files that a page links, which get a copy that every browser shows as text. `files.ts` writes it. */
export const shownAsText = new Set<string>();

/** What becomes of a link: another address, one that is no page, or nothing but its text. */
type Target = { page: string } | { file: string } | { outside: string } | "text";

/** Where a link of a page leads. Throws where there is nothing. */
export function target(href: string, page: string): Target {
  const [, path, fragment] = /^([^#]*)(#.*)?$/.exec(href)!;
  const at = posix.join(posix.dirname(page), decodeURI(path)).replace(/\/$/, "");
  const readme = posix.join(at, "README.md");

  if (pages.includes(at)) return { page: address(at) + (fragment ?? "") };
  if (pages.includes(readme)) return { page: address(readme) + (fragment ?? "") };
  if (/^examples\/[^/]+$/.test(at) && hasSuite(at)) return { page: `/playground#example=${posix.basename(at)}` };
  if (published.has(at)) return { file: at };
  if (isFile(at) || isFolder(at)) return source ? { outside: `${source}/blob/v${version}/${at}` } : "text";
  throw new Error(`${page}: the link ${href} leads to nothing: there is no ${at}`);
}

/** Which file of the repository is rendered. Rewritten pages have their own path in `realPath`; the search index has only `path`. */
export function pageOf(env: MarkdownEnv): string {
  return posix.relative(root, env.realPath ?? env.path);
}

/** A plugin of markdown-it that gives relative links their target on the site. */
export function links(md: MarkdownRenderer, base: string): void {
  md.core.ruler.push("links_of_the_repository", (state) => {
    for (const { children } of state.tokens) {
      // Tokens without a link any more, by their place: its beginning and its end.
      const open: boolean[] = [];
      for (let index = 0; children && index < children.length; index += 1) {
        const token = children[index];
        if (token.type === "link_open") {
          const href = token.attrGet("href") ?? "";
          const isRelative = href !== "" && !/^([a-z][a-z0-9+.-]*:|\/|#)/i.test(href);
          const found = isRelative ? target(href, pageOf(state.env)) : { outside: href };
          open.push(found !== "text");
          if (found === "text") {
            children.splice(index, 1);
            index -= 1;
          } else if ("file" in found) {
            shownAsText.add(found.file);
            token.attrSet("href", `${base}${found.file}.txt`);
            // No page: the browser has to open it, not the site's router.
            token.attrSet("target", "_self");
          } else {
            token.attrSet("href", "page" in found ? found.page : found.outside);
          }
        } else if (token.type === "link_close" && !open.pop()) {
          children.splice(index, 1);
          index -= 1;
        }
      }
    }
  });
}

/** A heading's anchor, as GitHub makes it. Of equal ones the second gets `-1`, which markdown-it-anchor does the same way. */
export const anchor = (heading: string): string => slug(heading);
