import type { Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { expect, test } from "./flower";

const PAGES = [
  "/",
  "/briefs?show=all",
  "/briefs/1",
  "/worktrees",
  "/worktrees/b2-stay",
  "/agents",
  "/agents/play-2",
  "/landing",
  "/landing/1",
  "/inbox",
  "/trace",
  "/settings",
];
const over = (page: Page) =>
  page.evaluate(() => {
    const main = document.querySelector("main")!;
    return Math.max(document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth);
  });

test("every page is accessible in dark mode and on a phone, and none is too wide", async ({ page, flower }) => {
  test.slow();
  const first = flower.dispatched("Greet", "write src/hello.txt hi\ncommit greet\nhand-back done");
  const status = () => flower.json<{ status: string }>("brief", "show", String(first)).status;
  await expect.poll(status, { timeout: 60_000 }).toBe("landed");
  flower.dispatched("Stay", "write src/a.txt a\ncommit a\nsay I wait.\nquestion Which colour?\nwait\nhang");
  await flower.open(page);
  await expect(page.getByRole("article", { name: "question: Stay" })).toBeVisible({ timeout: 30_000 });
  const look = async (what: string) => {
    await expect(page.locator("[data-live=live]")).toBeAttached();
    await expect(page.getByRole("heading", { level: 1 }).first()).toBeVisible();
    await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
    await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    await expectNoSeriousFindings(page);
    await page.emulateMedia({ colorScheme: "light" });
    for (const width of [2560, 768, 390]) {
      await page.setViewportSize({ width, height: 844 });
      const wide = expect.poll(() => over(page), { message: `${what} at ${width}`, timeout: 3_000 });
      await wide.toBeLessThanOrEqual(0);
    }
    await expectNoSeriousFindings(page);
    await page.setViewportSize({ width: 1440, height: 900 });
    expect(await over(page), `${what} at 1440`).toBeLessThanOrEqual(0);
  };
  for (const path of PAGES) {
    await test.step(path, async () => {
      await page.goto(`${flower.url}${path}`);
      await look(path);
    });
  }
  await page.goto(`${flower.url}/briefs`);
  await page.getByRole("button", { name: "Board" }).click();
  await look("the board");
});
