//! Pages that wait, that cannot be read, and that are not there.
import type { Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { expect, test } from "./flower";

const WRONG = { error: { kind: "internal", message: "the table is gone", hints: ["flower doctor"] } };
const READS: [path: string, of: string, there: string][] = [
  ["/worktrees", "**/api/worktrees?*", "lane"],
  ["/agents", "**/api/agents?*", "No agent runs."],
  ["/landing", "**/api/main/log?*", "The shop opens"],
  ["/briefs/1", "**/api/briefs/1", "Paint the door"],
];

async function settled(page: Page): Promise<void> {
  await expect(page.locator("[data-live=live]")).toBeVisible();
}

test("loading content reserves its space, and a failed read says why and is retried", async ({ page, flower }) => {
  test.slow();
  flower.brief("Paint the door");
  flower.run("worktree", "new", "lane");
  await flower.open(page, "/inbox");
  for (const [path, of, there] of READS) {
    const main = page.getByRole("main");
    let answer: "late" | "wrong" | "right" = "late";
    let go: () => void = () => undefined;
    const held = new Promise<void>((done) => (go = done));
    await page.route(of, async (route) => {
      if (answer === "late") await held;
      return answer === "wrong" ? route.fulfill({ status: 500, json: WRONG }) : route.fallback();
    });
    await page.goto(`${flower.url}${path}`);
    await settled(page);
    await expect(main.getByRole("status", { name: "Loading" }).first(), `${path} waits`).toBeVisible();
    await expectNoSeriousFindings(page);
    answer = "wrong";
    go();
    await expect(main.getByRole("alert").first(), `${path} fails`).toContainText("the table is gone");
    await expect(main.getByRole("alert").first()).toContainText("flower doctor");
    await expectNoSeriousFindings(page);
    answer = "right";
    await expect(main.getByText(there).first(), `${path} heals`).toBeVisible();
    await expect(main.getByRole("alert")).toHaveCount(0);
    await page.unroute(of);
  }
});

test("content that cannot be refreshed stays, is marked as possibly outdated, and is retried", async ({
  page,
  flower,
}) => {
  await flower.open(page, "/worktrees");
  await expect(page.getByText("No worktrees.").first()).toBeVisible();
  await page.route("**/api/worktrees?*", (route) => route.fulfill({ status: 500, json: WRONG }));
  flower.run("worktree", "new", "lane");
  const old = page.getByRole("status").filter({ hasText: "This may be outdated" });
  await expect(old).toContainText("the table is gone");
  await expect(page.getByText("No worktrees.").first()).toBeVisible();
  await expectNoSeriousFindings(page);
  await page.unroute("**/api/worktrees?*");
  await expect(old).toHaveCount(0);
  await expect(page.getByRole("link", { name: "lane" }).first()).toBeVisible();
});

test("missing things are reported, with a link to go on", async ({ page, browser, flower }) => {
  await flower.open(page, "/inbox");
  for (const [path, words] of [
    ["/landing/77", /landing.*77/],
    ["/agents/unknown-1", /agent.*unknown-1/],
    ["/briefs/77", /brief.*77/],
    ["/worktrees/nowhere", /nowhere.*no worktree/],
  ] as const) {
    await page.goto(`${flower.url}${path}`);
    await settled(page);
    await expect(page.getByRole("main"), path).toContainText(words);
    // The ways back from a brief and a worktree are links by their colour alone, until they are mended.
    await expectNoSeriousFindings(page);
  }
  await page.goto(`${flower.url}/nowhere`);
  await expect(page.getByRole("heading", { name: "There is no such page" })).toBeVisible();
  await expectNoSeriousFindings(page);
  await page.route("**/api/projects", (route) => route.fulfill({ json: [] }));
  await page.goto(flower.url);
  await expect(page.getByRole("heading", { name: "No project yet" })).toBeVisible();
  await expectNoSeriousFindings(page);

  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(flower.url);
  await expect(stranger.getByRole("heading", { name: "This page needs a fresh link" })).toBeVisible();
  await expectNoSeriousFindings(stranger);
  await stranger.context().close();
});

test("a new version of flower is announced, and its page can be loaded", async ({ page, flower }) => {
  const headers = { "content-type": "text/event-stream", "x-flower-version": "0.0.0-before" };
  await page.route("**/api/events*", (route) => route.fulfill({ headers, body: ": alive\n\n" }), { times: 1 });
  await flower.open(page, "/inbox");
  await expect(page.getByText("Another version of flower is running now.")).toBeVisible();
  await expectNoSeriousFindings(page);
  await page.getByRole("button", { name: "Load its page" }).click();
  await settled(page);
  await expect(page.getByText("Another version of flower is running now.")).toHaveCount(0);
});
