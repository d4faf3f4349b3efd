// The pictures of the playground that the documentation has: run it after a change of its look, and look at them.
//
//     npm run pictures       after `npm run build`, while `npm run serve` runs

import { mkdirSync } from "node:fs";
import { env } from "node:process";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));
mkdirSync(folder, { recursive: true });

const site = `http://127.0.0.1:4180${env.SITE_BASE ?? "/"}`;
const [version] = await (await fetch(`${site}versions.json`)).json();
const browser = await chromium.launch({ executablePath: env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });

/** Opens the playground, does something, and keeps what is seen. */
async function picture(name, options, act = async () => {}) {
  const page = await browser.newPage(options);
  await page.goto(`${site}v${version}/playground`);
  const decided = () => page.locator(".playground[data-state=idle]").waitFor();
  await decided();
  await act(page);
  await decided();
  await page.screenshot({ path: `${folder}playground-${name}.png` });
  await page.close();
}

const desk = { viewport: { width: 1280, height: 800 } };
await picture("rejected", desk);
await picture("explained", { ...desk, colorScheme: "dark" }, async (page) => {
  await page.getByRole("button", { name: "Apply it to the settings" }).click();
  await page.locator(".pg-diff").scrollIntoViewIfNeeded();
});
await picture("empty", desk, (page) => page.getByRole("button", { name: "Empty", exact: true }).click());
await picture("phone", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 1 });
await browser.close();
