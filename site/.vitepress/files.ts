// The files that stand beside the pages: those of the repository that are published as they are.

import { cpSync } from "node:fs";
import { join } from "node:path";
import { shownAsText } from "./links";
import { published, root } from "./repository";

/** Copies them into the built site. */
export function copyFiles(site: string): void {
  for (const path of published) cpSync(join(root, path), join(site, path));
  // Hosts send YAML, scripts and names without an ending as something to download. A text opens.
  for (const path of shownAsText) cpSync(join(root, path), join(site, `${path}.txt`));
}
