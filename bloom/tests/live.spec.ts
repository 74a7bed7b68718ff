import { expect, look, test } from "./flower";

test("a link works once, the address is cleaned, and the session stays", async ({ page, flower }) => {
  const link = flower.json<{ open_url: string }>("up").open_url;
  await page.goto(link);
  await expect(page.locator("[data-live=live]")).toBeVisible();
  expect(page.url()).not.toContain("open=");
  await page.reload();
  await expect(page.locator("[data-live=live]")).toBeVisible();
  const other = await page.context().browser()!.newContext();
  const stranger = await other.newPage();
  await stranger.goto(link);
  await expect(stranger.getByRole("heading", { name: "This page needs a fresh link" })).toBeVisible();
  await look(stranger, "signed-out");
  await other.close();
});
