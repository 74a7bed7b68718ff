import { expect, look, test } from "./flower";

test("a link works once, the address is cleaned, and the session stays", async ({ page, flower }) => {
  const link = flower.json<{ open_url: string }>("up").open_url;
  await page.goto(link);
  await expect(page.locator("[data-live=live]")).toBeVisible();
  expect(page.url()).not.toContain("open=");
  await page.reload();
  await expect(page.locator("[data-live=live]")).toBeVisible();
  expect(await page.context().cookies()).toEqual([]);
  const other = await page.context().browser()!.newContext();
  const stranger = await other.newPage();
  await stranger.goto(link);
  await expect(stranger.getByRole("heading", { name: "This page needs a fresh link" })).toBeVisible();
  await look(stranger, "signed-out");
  await other.close();
});

test("a page goes on when its flower was killed and is back, and misses nothing", async ({ page, flower }) => {
  flower.brief("There before");
  await flower.open(page, "/briefs");
  await expect(page.getByText("There before")).toBeVisible();
  await flower.kill();
  await expect(page.locator("[data-live=lost]")).toBeVisible();
  await expect(page.getByText("Not live: flower does not answer")).toBeVisible();
  await expect(page.getByText("There before")).toBeVisible();
  await look(page, "not-live");
  await flower.up();
  flower.brief("Made meanwhile");
  await expect(page.locator("[data-live=live]")).toBeVisible({ timeout: 15_000 });
  await expect(page.getByText("Made meanwhile")).toBeVisible();
  flower.brief("Made afterwards");
  await expect(page.getByText("Made afterwards")).toBeVisible();
});

test("a page goes on when the machine was offline", async ({ page, context, flower }) => {
  await flower.open(page, "/briefs");
  await context.setOffline(true);
  // What is open stays open; a new stream cannot be had.
  await flower.kill();
  await expect(page.locator("[data-live=lost]")).toBeVisible();
  await flower.up();
  flower.brief("Written while offline");
  await page.waitForTimeout(1_500);
  await expect(page.locator("[data-live=lost]")).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByText("Written while offline")).toBeVisible({ timeout: 15_000 });
});

test("many windows share one stream, and the next one takes over", async ({ context, flower }) => {
  const first = await context.newPage();
  await flower.open(first, "/briefs");
  const streams: string[] = [];
  context.on("request", (request) => {
    if (request.url().includes("/api/events")) streams.push(request.url());
  });
  // More than a browser has connections for one host.
  const others = [];
  for (let n = 0; n < 7; n++) {
    const page = await context.newPage();
    await page.goto(`${flower.url}/briefs`);
    await expect(page.locator("[data-live=live]")).toBeVisible();
    others.push(page);
  }
  expect(streams).toEqual([]);
  flower.brief("Seen by all");
  for (const page of others) await expect(page.getByText("Seen by all")).toBeVisible();
  await first.close();
  await expect.poll(() => streams.length).toBe(1);
  flower.brief("Seen by the rest");
  for (const page of others) await expect(page.getByText("Seen by the rest")).toBeVisible();
});
