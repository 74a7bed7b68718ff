//! What an agent's window does beside showing the agent: connections, the keyboard, what was typed.
import type { Page } from "@playwright/test";
import { expect, test, type Flower } from "./flower";

test.describe.configure({ timeout: 120_000 });

function terminal(flower: Flower): void {
  flower.run("worktree", "new", "lane", "--lane");
  flower.run("agent", "spawn", "sh", "--worktree", "lane", "--standing");
}

/** Makes the page believe that its window is hidden, or visible again. */
async function look(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

test("a hidden terminal holds no connection, and continues where it was", async ({ page, flower }) => {
  terminal(flower);
  const asked: string[] = [];
  let open = 0;
  const isIt = (url: string) => new URL(url).pathname.endsWith("/terminal");
  page.on("request", (request) => {
    if (!isIt(request.url())) return;
    asked.push(new URL(request.url()).search);
    open += 1;
  });
  page.on("requestfailed", (request) => void (isIt(request.url()) && (open -= 1)));
  await flower.open(page, "/agents/sh-1");
  const shown = page.getByRole("group", { name: "Terminal of sh-1" });
  await page.getByRole("button", { name: "Take the keyboard" }).click();
  await page.keyboard.type("echo before$((1+1))\n");
  await expect(shown).toContainText("before2");
  expect(open).toBe(1);
  await look(page, true);
  await expect.poll(() => open).toBe(0);
  flower.run("agent", "tell", "sh-1", "echo meanwhile$((2+2))");
  await page.waitForTimeout(1_000);
  await expect(shown).not.toContainText("meanwhile4");
  expect(asked).toEqual([""]);
  await look(page, false);
  await expect(shown).toContainText("meanwhile4");
  expect(asked[1]).toMatch(/^\?after=\d+$/);
  // Nothing is drawn twice.
  expect((await shown.innerText()).match(/before2/g)).toHaveLength(1);
});

test("Tab passes a terminal unless its keyboard was taken; what cannot be loaded says so", async ({ page, flower }) => {
  terminal(flower);
  let broken = true;
  await page.route("**/_app/immutable/chunks/*.js", async (route) => {
    const answer = await route.fetch();
    const isTerminal = (await answer.text()).includes("xterm-helper-textarea");
    return broken && isTerminal ? route.abort() : route.fulfill({ response: answer });
  });
  await flower.open(page, "/agents/sh-1");
  await expect(page.getByText("the terminal could not be loaded")).toBeVisible();
  broken = false;
  // A browser does not fetch a module again that it could not get.
  await page.reload();
  const take = page.getByRole("button", { name: "Take the keyboard" });
  await expect(take).toBeEnabled();
  await expect(page.getByText("releases the keyboard")).toBeVisible();
  const inside = page.getByRole("group", { name: "Terminal of sh-1" }).locator("textarea");
  await inside.focus();
  await page.keyboard.press("Tab");
  await expect(take).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(inside).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(inside).toBeFocused();
  await page.keyboard.press("Control+]");
  await expect(take).toBeVisible();
  await expect(inside).not.toBeFocused();
});

test("what was typed for an agent outlives a reload; how long it is quiet goes on; all is in the palette", async ({
  page,
  flower,
}) => {
  flower.dispatched("Greet", "hang");
  await page.route("**/api/agents/play-1", async (route) => {
    const answer = await route.fetch();
    return route.fulfill({ json: { ...(await answer.json()), quiet_seconds: 58 } });
  });
  await flower.open(page, "/agents/play-1");
  await expect(page.getByText("quiet for 1m")).toBeVisible({ timeout: 10_000 });
  const field = page.getByRole("textbox", { name: "Message to play-1" });
  const choose = async (words: string) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search and commands" }).fill(words);
    await expect(page.getByRole("option", { selected: true })).toContainText(words);
    await page.keyboard.press("Enter");
  };
  await choose("Send a message to play-1");
  await expect(field).toBeFocused();
  await page.keyboard.type("Be kind");
  await page.reload();
  await expect(field).toHaveValue("Be kind");
  await field.press("Enter");
  await expect(field).toHaveValue("");
  await page.reload();
  await expect(field).toHaveValue("");
  await choose("Stop play-1");
  await expect(page.getByRole("dialog", { name: "Stop play-1?" })).toBeVisible();
});

test("Tab leaves the editor of a spec", async ({ page, flower }) => {
  flower.brief("Paint", "# Plan\n\nRed.");
  await flower.open(page, "/briefs/1");
  await page
    .getByRole("button", { name: /Edit|Refine/ })
    .first()
    .click();
  const text = page.locator(".cm-content");
  await expect(text).toBeFocused();
  await expect(page.getByText("goes on to the buttons")).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(text).not.toBeFocused();
  await expect(text).toHaveText(/Red\.$/);
});
