// Serves target/site on this machine, as a static host would: `/docs/settings` is docs/settings.html, what is missing gets
// 404.html. For tests and for a look at the site.
//
//     node site/tests/serve.mjs [port]

import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { argv, env } from "node:process";
import { fileURLToPath } from "node:url";

const site = fileURLToPath(new URL("../../target/site", import.meta.url));
const base = env.SITE_BASE ?? "/";
const port = Number(argv[2] ?? 4180);

const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
};

/** The file for a path of the site, if there is one. */
async function find(path) {
  const file = join(site, normalize(`/${path}`));
  for (const candidate of path === "" || path.endsWith("/") ? [join(file, "index.html")] : [file, `${file}.html`]) {
    if (await stat(candidate).then((found) => found.isFile(), () => false)) return candidate;
  }
  return undefined;
}

createServer(async (request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
  const found = path.startsWith(base) ? await find(path.slice(base.length)) : undefined;
  // A folder's page is below the folder.
  if (!found && path.startsWith(base) && (await find(`${path.slice(base.length)}/`))) {
    response.writeHead(301, { location: `${path}/` }).end();
    return;
  }
  const file = found ?? join(site, "404.html");
  response.writeHead(found ? 200 : 404, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
  response.end(await readFile(file));
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}${base}`));
