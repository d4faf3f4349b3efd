// The documentation as a site: the pages of the repository, and the playground. `npm run build` writes it into
// target/site/v<version>, beside the versions that are there.
//
// VitePress builds markdown files as they stand in the repository, searches without a server and bundles the playground. `overrides` in
// package.json holds rollup at a version whose packages are there for every platform.
//
// SITE_BASE is the address of target/site on its host, with slashes at both ends; without it, the host's root.

import { join } from "node:path";
import type { Plugin } from "vite";
import { defineConfig } from "vitepress";
import { writeVersions } from "../versions.mjs";
import { nav, sidebar } from "./contents";
import { checkSite } from "./deadLinks";
import { tryIt } from "./fences";
import { copyFiles } from "./files";
import { markdown } from "./markdown";
import { preloaded } from "./preload";
import { noPages, pages, place, root, version } from "./repository";
import { secured } from "./security";

const base = `${process.env.SITE_BASE ?? "/"}v${version}/`;
const out = join(root, "target/site");

// A box that is looked at, in the colour of links: no request, and no file.
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect x='1' y='1' width='14' height='14' rx='3' fill='%23175d86'/%3E%3Cpath d='M4.5 8.2l2.4 2.4 4.6-5' fill='none' stroke='white' stroke-width='1.8'/%3E%3C/svg%3E";

/** Pages become modules that import Vue. They stand outside of this folder, and the packages inside of it. */
const packages: Plugin = {
  name: "packages-of-the-site",
  enforce: "pre",
  resolveId(id, importer) {
    if (!/^vue(\/|$)/.test(id) || !importer || importer.startsWith(join(root, "site/"))) return null;
    return this.resolve(id, join(root, "site/package.json"), { skipSelf: true });
  },
};

export default defineConfig({
  title: "image-admission",
  description: "A Kubewarden policy that decides which container images may run, by their names and by what a scanner found in them.",
  lang: "en",
  base,
  srcDir: "..",
  srcExclude: noPages,
  rewrites: place,
  outDir: join(out, `v${version}`),
  cleanUrls: true,
  head: [["link", { rel: "icon", href: icon }]],
  markdown: markdown(base),
  transformHtml: (html, _, { page, siteConfig }) => secured(page === "playground.md" ? preloaded(html, siteConfig.outDir, base) : html),

  buildEnd(site) {
    const found = [...site.pages].sort().join("\n");
    if (found !== pages.join("\n")) throw new Error(`VitePress built these pages, and not those of repository.ts:\n${found}`);
    copyFiles(site.outDir);
    writeVersions(out);
    checkSite(site.outDir, base);
  },

  themeConfig: {
    nav,
    sidebar,
    outline: [2, 3],
    search: {
      provider: "local",
      options: { _render: (text, env, md) => md.render(text, env).replace(tryIt, "") },
    },
  },

  vite: {
    // For the theme, which shows it.
    define: { __VERSION__: JSON.stringify(version) },
    plugins: [packages],
    build: { chunkSizeWarningLimit: 2000 },
  },
});
