// The order of the pages: README.md's list "Read on" is the one list of them. The sidebar and the nav are made of it, and a
// page that it leaves out is an error.

import { posix } from "node:path";
import type { DefaultTheme } from "vitepress";
import { target } from "./links";
import { address, pages, read } from "./repository";

/** Pages that other pages lead to: no list needs them. */
const ELSEWHERE = ["README.md", "site/playground.md", "tests/real-host/README.md"];

const DECISIONS = "docs/decisions/README.md";

type Item = DefaultTheme.SidebarItem & { text: string };

/** A link's text as an entry: plain, and with a capital, unless it is a name such as `trivy-operator`. */
function entry(text: string): string {
  const plain = text.replaceAll("`", "");
  return /^[a-z]+(?![\w-])/.test(plain) ? plain[0].toUpperCase() + plain.slice(1) : plain;
}

/** The links of a text to pages, in their order. */
function entries(text: string, page: string): Item[] {
  return [...text.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].flatMap(([, name, href]) => {
    const found = target(href, page);
    return typeof found === "object" && "page" in found ? [{ text: entry(name), link: found.page }] : [];
  });
}

/** The decisions, which have a list of their own: a heading for each subject, and its pages. */
function decisions(): Item[] {
  const [, ...subjects] = read(DECISIONS).split(/^## /m);
  return subjects.map((subject) => {
    const [title, ...rest] = subject.split("\n");
    // A page is what its line begins with. What the line says of it may have links of its own.
    const lines = rest.filter((line) => line.startsWith("- ")).map((line) => line.replace(/\).*$/, ")"));
    return { text: title, collapsed: true, items: entries(lines.join("\n"), DECISIONS) };
  });
}

/** The groups of README.md's list: `- Guides: [trivy-operator](docs/trivy-operator.md), …`. */
function groups(): Array<{ text: string; items: Item[] }> {
  const list = read("README.md").split(/^## Read on$/m)[1] ?? "";
  const found = [...list.matchAll(/^- (\w+): (.*)$/gm)].map(([, text, links]) => ({ text, items: entries(links, "README.md") }));
  if (found.length === 0) throw new Error("README.md has no list `Read on`");
  return found;
}

const all = groups();
const listed = all.flatMap(({ items }) => items);
const ofDecisions = listed.find(({ link }) => link === address(DECISIONS));
if (ofDecisions) Object.assign(ofDecisions, { collapsed: true, items: decisions() });

const known = new Set(
  [...listed, ...decisions().flatMap(({ items }) => items ?? [])].map(({ link }) => link?.replace(/#.*$/, "")),
);
for (const page of pages) {
  if (known.has(address(page)) || ELSEWHERE.includes(page)) continue;
  const list = posix.dirname(page) === posix.dirname(DECISIONS) ? DECISIONS : "README.md's `Read on`";
  throw new Error(`${page} isn't listed in ${list}: nobody would find it on the site`);
}

export const sidebar: DefaultTheme.SidebarItem[] = all;

/** A page belongs to the group that names it first, by itself: `/deploy/` is no guide because of one of its headings. */
export const nav: DefaultTheme.NavItem[] = [
  ...all.map(({ text, items }) => ({
    text,
    link: items[0].link!,
    activeMatch: `^(${items.map(({ link }) => link!.replace(/#.*$/, "")).join("|")})`,
  })),
  { text: "Playground", link: "/playground" },
];
