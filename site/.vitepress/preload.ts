// The playground's page loads its script at once: the browser would find it only in the site's own.

import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The page's HTML with a link to the playground's script in its head. */
export function preloaded(html: string, outDir: string, base: string): string {
  const file = readdirSync(join(outDir, "assets"), { recursive: true, encoding: "utf8" }).find((name) => /(^|\/)Playground\.[\w-]+\.js$/.test(name));
  if (!file) throw new Error("the site has no script of the playground");
  return html.replace("</head>", `  <link rel="modulepreload" href="${base}assets/${file}">\n  </head>`);
}
