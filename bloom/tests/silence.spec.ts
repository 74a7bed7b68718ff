import { expect, test } from "./flower";

const LONG = 41_000;

test("a silent connection is detected and reopened", async ({ page, flower }) => {
  await page.clock.install();
  await flower.open(page, "/briefs");
  flower.hang();
  await page.clock.fastForward(LONG);
  await expect(page.locator("[data-live=lost]")).toBeVisible();
  await expect(page.getByText("Not live: flower does not answer")).toBeVisible();
  flower.resume();
  await expect(page.locator("[data-live=live]")).toBeVisible();
  flower.brief("Afterwards");
  await expect(page.getByText("Afterwards")).toBeVisible();
});

test("two browsers agree", async ({ page, browser, flower }) => {
  flower.brief("Shelves");
  await flower.open(page, "/briefs");
  const other = await browser.newContext();
  const there = await other.newPage();
  await flower.open(there, "/briefs");
  flower.run("brief", "ask", "1", "How high?");
  flower.brief("Walls");
  for (const window of [page, there]) {
    await expect(window.getByText("Walls")).toBeVisible();
    await expect(window.getByRole("listitem").filter({ hasText: "Shelves" })).toContainText("needs you");
  }
  const said = (of: typeof page) => of.getByRole("list", { name: "Briefs" }).innerText();
  expect((await said(page)).replace(/\d+s ago|now/g, "")).toBe((await said(there)).replace(/\d+s ago|now/g, ""));
  await other.close();
});

test("other windows detect that the leading window hangs", async ({ page, context, flower }) => {
  await flower.open(page, "/briefs");
  const other = await context.newPage();
  await other.clock.install();
  await other.goto(`${flower.url}/briefs`);
  await expect(other.locator("[data-live=live]")).toBeVisible();
  await other.clock.fastForward(LONG);
  await expect(other.locator("[data-live=lost]")).toBeVisible();
  flower.brief("It goes on");
  await expect(other.getByText("It goes on")).toBeVisible();
  await expect(other.locator("[data-live=live]")).toBeVisible();
});
