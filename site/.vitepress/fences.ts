// What fences of code get on the site: a link that opens settings and suites in the playground.

import type { MarkdownRenderer } from "vitepress";
import { encode } from "../playground/link";

/** What the playground opens: settings or a suite, with the files that the page has for them. */
export interface Workspace {
  settings?: string;
  suite?: string;
  files?: Record<string, string>;
}

/** The lines without the indentation that all of them have: a part of a larger file starts further to the right. */
export function dedent(text: string): string {
  const lines = text.split("\n");
  const indents = lines.filter((line) => line.trim()).map((line) => /^ */.exec(line)![0].length);
  const common = Math.min(...indents);
  return lines.map((line) => line.slice(common)).join("\n");
}

/** What an abbreviated key of the guides stands for, as it is written between quotes. */
const KEYS = {
  "-----BEGIN PUBLIC KEY-----…":
    "-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZd4V/st+w837Vw+oercc4fGOidWX\\nawcFfNu/9f+Ft2Bn2FCYtpA7rYK+sMmI958fKV6cEoXFgLGZg2Eg7Ru/fg==\\n-----END PUBLIC KEY-----\\n",
  "-----BEGIN CERTIFICATE-----…":
    "-----BEGIN CERTIFICATE-----\\nMIIBszCCAVmgAwIBAgIUYmFkYmFkYmFkYmFkYmFkYmFkYmFkYmFkMAoGCCqGSM49\\n-----END CERTIFICATE-----\\n",
};

/** A text with whole keys: half of one is refused. */
export function whole(text: string): string {
  return Object.entries(KEYS).reduce((all, [short, key]) => all.replaceAll(short, key), text);
}

interface Fence {
  info: string;
  content: string;
}

/** The workspace of a fence, with the files of the fences beside it. Nothing for fences that the playground can't open. */
export function workspace(fence: Fence, all: Fence[]): Workspace | undefined {
  const kind = /^yaml (settings|suite)$/.exec(fence.info.trim())?.[1];
  if (kind !== "settings" && kind !== "suite") return undefined;
  const files = Object.fromEntries(
    all.flatMap(({ info, content }) => {
      const name = /^yaml file (\S+)$/.exec(info.trim())?.[1];
      return name ? [[name, whole(content)]] : [];
    }),
  );
  return { [kind]: whole(dedent(fence.content)), ...(Object.keys(files).length ? { files } : {}) };
}

/** What a page says below such a fence. The search index leaves it out: it would find every fence. */
export const tryIt = /<p class="try-it">.*?<\/p>/g;

/** A plugin of markdown-it that adds the link. */
export function fences(md: MarkdownRenderer, base: string): void {
  const before = md.renderer.rules.fence!;
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const written = workspace(tokens[index], tokens.filter((token) => token.type === "fence"));
    const code = before(tokens, index, options, env, self);
    if (!written) return code;
    return `${code}<p class="try-it"><a href="${base}playground#w=${encode(written)}">Try it in the playground</a></p>\n`;
  };
}
