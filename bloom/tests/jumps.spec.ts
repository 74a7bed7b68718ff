//! Nothing jumps: what is shown stays where it is while the rest arrives, and when something happens.
import type { Page } from "@playwright/test";
import { expect, test } from "./flower";

/** Of the page that moves, times how far: what people begin to notice. */
const MOST = 0.1;

interface Shift {
  value: number;
  what: string[];
}
interface Watching {
  shifts: Shift[];
}
interface LayoutShift extends PerformanceEntry {
  value: number;
  hadRecentInput: boolean;
  sources: { node?: Node; previousRect: DOMRect; currentRect: DOMRect }[];
}

async function watch(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const shifts: Shift[] = [];
    (window as unknown as Watching).shifts = shifts;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as LayoutShift[]) {
        if (entry.hadRecentInput) continue;
        const what = entry.sources.map(({ node, previousRect, currentRect }) => {
          const element = node instanceof Element ? node : node?.parentElement;
          const name = `${element?.tagName}.${element?.getAttribute("class")} ${element?.textContent?.slice(0, 30)}`;
          return `${name} ${Math.round(previousRect.y)}→${Math.round(currentRect.y)}`;
        });
        shifts.push({ value: entry.value, what });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
}

async function expectStill(page: Page, where: string): Promise<void> {
  await page.waitForTimeout(300);
  const shifts = await page.evaluate(() => (window as unknown as Watching).shifts.splice(0));
  const total = shifts.reduce((sum, { value }) => sum + value, 0);
  const told = shifts.map(({ value, what }) => `${value.toFixed(3)} ${what.join("; ")}`).join("\n");
  expect.soft(total, `${where}:\n${told}`).toBeLessThan(MOST);
}

test("nothing jumps while pages load, nor when something happens", async ({ page, flower }) => {
  test.slow();
  const first = flower.dispatched("Greet", "write src/hello.txt hi\ncommit greet\nhand-back done");
  const status = () => flower.json<{ status: string }>("brief", "show", String(first)).status;
  await expect.poll(status, { timeout: 60_000 }).toBe("landed");
  flower.run("brief", "note", "1", "Before the page is open");
  flower.run("worktree", "new", "lane");
  await watch(page);
  await flower.open(page);
  await page.evaluate(() => (window as unknown as Watching).shifts.splice(0));
  for (const path of [
    "/",
    "/briefs",
    "/briefs/1",
    "/worktrees",
    "/worktrees/lane",
    "/agents",
    "/landing",
    "/inbox",
    "/trace",
  ]) {
    await page.goto(`${flower.url}${path}`);
    await expect(page.locator("[data-live=live]")).toBeVisible();
    await expect(page.getByRole("heading", { level: 1 }).first()).toBeVisible();
    await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
    await expectStill(page, `${path} loads`);
  }
  await page.goto(`${flower.url}/briefs/1`);
  await expect(page.getByText("Before the page is open", { exact: true })).toBeVisible();
  flower.run("brief", "note", "1", "While the page is open");
  await expect(page.getByText("While the page is open", { exact: true })).toBeVisible();
  await expectStill(page, "a note on a brief");

  await page.goto(`${flower.url}/`);
  const stem = page.getByRole("group", { name: "The stem of MAIN" });
  await expect(stem).toBeVisible();
  await expectStill(page, "home loads again");
  flower.dispatched("Paint", "write src/paint.txt red\ncommit paint\nsleep 2\nhand-back done");
  await expect(stem.getByRole("link", { name: /^agent: play/ })).toBeVisible({ timeout: 30_000 });
  await expectStill(page, "an agent starts");
  await expect(stem.getByRole("link", { name: /^landed: Paint/ })).toBeVisible({ timeout: 30_000 });
  await expectStill(page, "a landing lands");
});
