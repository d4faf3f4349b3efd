// The Content-Security-Policy of every page: it runs its own scripts, and asks its own host. What people paste into the
// playground can't leave the page.

import { createHash } from "node:crypto";

/** A page's HTML with its policy in front of everything that it governs. */
export function secured(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)];
  const hashes = inline.map(([, text]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`);
  const policy = [
    "default-src 'none'",
    // The playground's module is WebAssembly.
    ["script-src 'self' 'wasm-unsafe-eval'", ...new Set(hashes)].join(" "),
    // The theme, the highlighting and the editor write styles into elements.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  const charset = '<meta charset="utf-8">';
  if (!html.includes(charset)) throw new Error("a page has no charset to put its policy behind");
  return html.replace(charset, `${charset}\n    <meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">`);
}
