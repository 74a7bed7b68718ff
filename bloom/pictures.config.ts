import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** `cargo xtask pictures`: what the README shows, taken from the real program. */
export default defineConfig(tests, { testDir: "pictures", retries: 0, workers: 1 });
