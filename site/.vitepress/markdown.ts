// How markdown becomes HTML here: as GitHub shows it, so that a page reads the same in both places.

import type { MarkdownOptions, MarkdownRenderer } from "vitepress";
import { fences } from "./fences";
import { promql, rego, terminal } from "./languages";
import { anchor, links } from "./links";

/** The options of VitePress for markdown. */
export function markdown(base: string): MarkdownOptions {
  return {
    // No page has HTML. `<registry>` is a text, and no element that nobody closes.
    html: false,
    // Nor has one VitePress' own additions: `{…}` at the end of a line is a text too.
    attrs: { disable: true },
    anchor: { slugify: anchor },
    // Their colours can be read by people who see little contrast.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    languages: [rego, promql, terminal],
    config: (md) => {
      md.disable("emoji");
      plainBraces(md);
      longNames(md);
      links(md, base);
      fences(md, base);
    },
  };
}

/** Pages are templates of Vue, where two braces begin an expression. Here they are text. VitePress sees to fences. */
function plainBraces(md: MarkdownRenderer): void {
  for (const kind of ["text", "code_inline"] as const) {
    const before = md.renderer.rules[kind]!;
    md.renderer.rules[kind] = (...all) => before(...all).replaceAll("{{", "&#123;&#123;");
  }
}

/** Paths of settings may break behind a dot: a table of them would be wider than the page. */
function longNames(md: MarkdownRenderer): void {
  const before = md.renderer.rules.code_inline!;
  md.renderer.rules.code_inline = (tokens, index, ...rest) => {
    const html = before(tokens, index, ...rest);
    return /^[\w.[\]<>-]{16,}$/.test(tokens[index].content) ? html.replaceAll(".", ".<wbr>") : html;
  };
}
