// How the site's tests run: in the Chromium of this machine ($CHROMIUM), on what `npm run build` wrote into target/site.

import { defineConfig } from "@playwright/test";
import { version } from "./.vitepress/repository";

const PORT = 4180;
const site = `http://127.0.0.1:${PORT}${process.env.SITE_BASE ?? "/"}`;

export default defineConfig({
  testDir: "tests",
  outputDir: "../target/site-tests",
  fullyParallel: true,
  workers: 2,
  timeout: 120_000,
  // What is slow on a busy machine isn't wrong; how fast it must be is said where it is measured.
  expect: { timeout: 60_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: "list",
  use: {
    // Paths of tests are relative to it: `docs/settings`.
    baseURL: `${site}v${version}/`,
    viewport: { width: 1280, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      // A container has no sandbox for it; and it has nothing to ask of any host but the site's.
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  // What is timed runs alone, when everything else is done.
  projects: [
    { name: "pages", grepInvert: /it is fast/ },
    { name: "speed", grep: /it is fast/, dependencies: ["pages"] },
  ],
  webServer: {
    command: `node tests/serve.mjs ${PORT}`,
    url: site,
    reuseExistingServer: !process.env.CI,
  },
});
