// What the built site promises: each page opens without an error and asks no other host, fits on a phone, can be read by
// everybody, is found, and opens its settings in the playground.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import { type Page, expect, test } from "@playwright/test";
import { dedent, whole } from "../.vitepress/fences";
import { address, pages as sources, read, root, version } from "../.vitepress/repository";
import { decode } from "../playground/link";

const built = join(root, "target/site", `v${version}`);

/** The pages, relative to the site of this version: ``, `docs/settings`. The playground has tests of its own. */
const pages = sources.map((source) => address(source).slice(1)).filter((path) => path !== "playground");

/** Keeps every other host away from a page, and collects what it asked of them and what it complained about. */
async function watched(page: Page): Promise<string[]> {
  const found: string[] = [];
  await page.route(
    (url) => url.hostname !== "127.0.0.1",
    (route) => {
      found.push(`asked ${route.request().url()}`);
      return route.abort();
    },
  );
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) found.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => found.push(`thrown: ${error.message}`));
  return found;
}

/** Opens a page, and waits until the theme works. */
async function open(page: Page, path: string): Promise<void> {
  await page.goto(path, { waitUntil: "networkidle" });
}

test("the site has these pages and no others", () => {
  const files = readdirSync(built, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".html"));
  const expected = [...pages, "playground"].map((path) => `${path}${/(^|\/)$/.test(path) ? "index" : ""}.html`);
  expect(files.sort()).toEqual(["404.html", ...expected].sort());
});

for (const path of pages) {
  test(`/${path} opens without an error, asks no other host, and fits on a phone`, async ({ page }) => {
    const found = await watched(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await open(page, path);
    await expect(page.locator(".vp-doc h1")).toBeVisible();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, "nothing is wider than the phone").toBeLessThanOrEqual(390);
    expect(found).toEqual([]);
  });
}

test("the bar at the top fits at every width", async ({ page }) => {
  await open(page, "docs/settings");
  for (const width of [390, 768, 960, 1100, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const right = await page
      .locator(".VPNavBar :is(a, button, .versions):visible")
      .evaluateAll((all) => Math.max(...all.map((element) => element.getBoundingClientRect().right)));
    expect(right, `at ${width}`).toBeLessThanOrEqual(width);
  }
});

for (const mode of ["light", "dark"] as const) {
  for (const path of ["", "docs/reports", "docs/settings", "docs/rego", "docs/monitoring", "nothing-here"]) {
    test(`/${path} in ${mode} can be read by everybody`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: mode });
      await open(page, path);
      expect(await page.locator("html").evaluate((html) => html.classList.contains("dark"))).toBe(mode === "dark");
      const { violations } = await new AxeBuilder({ page }).analyze();
      const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3).join(" ")}`);
      expect(told).toEqual([]);
    });
  }
}

test("a search finds exemptions, and opens their page", async ({ page }) => {
  const found = await watched(page);
  await open(page, "");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator("#localsearch-input").fill("exemptions");
  const first = page.locator("#localsearch-list a").first();
  await expect(first).toContainText(/exemptions/i);
  await expect(page.locator("#localsearch-list")).not.toContainText("Try it in the playground");
  await first.click();
  await expect(page).toHaveURL(/docs\/[a-z-]+#[a-z-]*exemptions/);
  await expect(page.locator(".vp-doc h1")).toBeVisible();
  expect(found).toEqual([]);
});

test("search, open, can be read by everybody", async ({ page }) => {
  await open(page, "");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator("#localsearch-input").fill("exemptions");
  await expect(page.locator("#localsearch-list a").first()).toBeVisible();
  // VitePress makes a button of the whole box; nothing of ours can change that.
  const { violations } = await new AxeBuilder({ page }).disableRules("nested-interactive").analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
});

test("each fence of settings or of a suite opens in the playground as it is written", async ({ page }) => {
  let count = 0;
  for (const source of sources) {
    const text = read(source);
    const written = [...text.matchAll(/^( *)```yaml (settings|suite)\n([\s\S]*?)^\1```$/gm)];
    const files = [...text.matchAll(/^( *)```yaml file (\S+)\n([\s\S]*?)^\1```$/gm)];
    if (written.length === 0) continue;
    await page.goto(address(source).slice(1));
    const links = await page.locator(".try-it a").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
    const opened = links.map((link) => {
      const [where, data] = link.split("#w=");
      expect(where).toMatch(new RegExp(`/v${version}/playground$`));
      return decode(data);
    });
    const carried = Object.fromEntries(files.map(([, , name, content]) => [name, whole(dedent(content))]));
    const expected = written.map(([, , kind, content]) => ({
      [kind]: whole(dedent(content)),
      ...(files.length > 0 ? { files: carried } : {}),
    }));
    expect(opened, source).toEqual(expected);
    count += written.length;
  }
  expect(count).toBeGreaterThan(70);
});

test("a link to a file of the repository opens it as text", async ({ page }) => {
  await open(page, "docs/migrating-from-gatekeeper");
  await page.locator('.vp-doc a[href$="deploy/cluster-admission-policy.yaml.txt"]').click();
  await expect(page.locator("body")).toContainText("kind: ClusterAdmissionPolicy");
});

test("the files that people fetch have their own names", async ({ request }) => {
  for (const path of ["settings.schema.json", "deploy/policy-server.yaml", "install.sh"]) {
    const answer = await request.get(path);
    expect(answer.ok(), path).toBe(true);
    expect(await answer.text()).toBe(readFileSync(join(root, path), "utf8"));
  }
});

test("an address that doesn't exist gets a page that says so, at any depth", async ({ page }) => {
  for (const path of ["nothing-here", "docs/nothing/here", "../v9.9.9/docs/settings"]) {
    const answer = await page.goto(path);
    expect(answer?.status()).toBe(404);
    await expect(page.locator(".NotFound")).toBeVisible();
  }
});

test("an address with a slash too many, or one too few, leads to its page", async ({ page }) => {
  for (const [path, heading] of [["docs/settings/", "Settings"], ["examples", "Examples"], ["examples/", "Examples"]] as const) {
    await page.goto(path);
    await expect(page.locator(".vp-doc h1"), path).toContainText(heading);
  }
});

test("the root leads to this version, and names it", async ({ page, baseURL }) => {
  const found = await watched(page);
  await page.goto("..");
  await expect(page).toHaveURL(baseURL!);
  await expect(page.locator(".versions.in-bar")).toHaveText(`v${version}`);
  expect(found).toEqual([]);
});

test("other versions that the host has are in a menu", async ({ page }) => {
  await page.route("**/versions.json", (route) => route.fulfill({ json: ["10.0.0", version, "0.0.9"] }));
  await open(page, "docs/settings");
  const menu = page.locator(".versions.in-bar");
  await menu.locator("summary").click();
  await expect(menu.locator("a")).toHaveText(["v10.0.0", "v0.0.9"]);
  expect(await menu.locator("a").first().evaluate((link) => (link as HTMLAnchorElement).pathname)).toMatch(/\/v10\.0\.0\/$/);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
});
