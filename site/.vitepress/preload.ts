// The playground's page loads its parts at once: the browser would find them one by one, each in the one before.

import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The page's HTML with links to the parts of the playground in its head. */
export function preloaded(html: string, outDir: string, base: string): string {
  const files = readdirSync(join(outDir, "assets"), { recursive: true, encoding: "utf8" });
  const link = (pattern: RegExp, kind: string) => {
    const file = files.find((name) => pattern.test(name));
    if (!file) throw new Error(`the site has no ${pattern}`);
    return `<link ${kind} href="${base}assets/${file}">`;
  };
  const links = [link(/(^|\/)Playground\.[\w-]+\.js$/, 'rel="modulepreload"'), link(/(^|\/)engine\.worker-[\w-]+\.js$/, 'rel="prefetch"')];
  return html.replace("</head>", `  ${links.join("\n    ")}\n  </head>`);
}
