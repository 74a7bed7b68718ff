//! Accessibility checks of a page with axe.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page } from "@playwright/test";
import type { AxeResults } from "axe-core";
import { still } from "./flower";

const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails with each serious or critical finding, and where it is. The page's own rules forbid a script tag. */
export async function expectNoSeriousFindings(page: Page): Promise<void> {
  await still(page);
  await page.evaluate(SOURCE);
  const results = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run: (root: Document) => Promise<AxeResults> } }).axe.run(document),
  );
  const serious = results.violations
    .filter((finding) => finding.impact === "serious" || finding.impact === "critical")
    .map(
      (finding) =>
        `${finding.id}: ${finding.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary}`).join("\n")}`,
    );
  expect(serious).toEqual([]);
}
