import { expect, test } from "./flower";

test("a page where nothing happens asks for nothing", async ({ page, flower }) => {
  flower.brief("Paint the door");
  flower.run("worktree", "new", "door-lane");
  await flower.open(page, "/");
  let asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (const path of [
    "/",
    "/briefs",
    "/briefs/1",
    "/worktrees",
    "/worktrees/door-lane",
    "/agents",
    "/landing",
    "/inbox",
    "/trace",
  ]) {
    await page.goto(`${flower.url}${path}`);
    await expect(page.locator("[data-live=live]")).toBeVisible();
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.waitForTimeout(1_000);
    asked = [];
    await page.waitForTimeout(800);
    expect(asked, path).toEqual([]);
  }
});
