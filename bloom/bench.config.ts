import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** `cargo xtask bench P19`: each figure is a line of JSON on standard output. */
export default defineConfig(tests, {
  testDir: "bench",
  retries: 0,
  workers: 1,
  timeout: 300_000,
  reporter: [["line"]],
});
