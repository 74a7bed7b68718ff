import config from "../playwright.config";
import { expect, test } from "./flower";

/** No name means anything here, as in a network that is closed. */
test.use({
  launchOptions: {
    ...config.use?.launchOptions,
    args: [...(config.use?.launchOptions?.args ?? []), "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
  },
});

test("every page works without any other host", async ({ page, browser, flower }) => {
  const failed: string[] = [];
  page.on("requestfailed", (request) => {
    if (request.failure()?.errorText.includes("ERR_NAME_NOT_RESOLVED")) failed.push(request.url());
  });
  flower.dispatched("Greet", "write src/hello.txt hi\ncommit greet\nhand-back done");
  flower.run("worktree", "new", "lane");
  await flower.open(page);
  const stem = page.getByRole("group", { name: "The stem of MAIN" });
  await stem.getByRole("link", { name: /^landed: Greet/ }).click({ timeout: 60_000 });
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Greet");
  await page.goto(`${flower.url}/briefs/1`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Greet");
  await page.goto(`${flower.url}/worktrees/lane`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("lane");
  expect(await page.evaluate(() => document.fonts.check("14px 'Geist Variable'"))).toBe(true);
  // The network is closed indeed: not even this machine is found by its name.
  const stranger = await browser.newPage();
  const named = flower.url.replace("127.0.0.1", "localhost");
  await expect(stranger.goto(named)).rejects.toThrow("ERR_NAME_NOT_RESOLVED");
  await stranger.close();
  expect(failed).toEqual([]);
});
