import { defineConfig } from "@playwright/test";
import { existsSync } from "node:fs";

/** Debian's, the one without a screen first: it starts sooner. */
const CHROMIUM = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync);

/** The real page over the real daemon, in the system's Chromium. */
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  fullyParallel: true,
  workers: 2,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  // Machines are shared; what needs a second try is listed as flaky.
  retries: 2,
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? CHROMIUM,
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    },
    viewport: { width: 1440, height: 900 },
    // Recording costs a third of the time; what fails is tried again.
    trace: "on-first-retry",
  },
});
