import { expectNoSeriousFindings } from "./axe";
import { chord, expect, look, test } from "./flower";

/** Each has a daemon and several agents of its own. */
test.describe.configure({ timeout: 120_000 });

test("without agents the page says how one is started", async ({ page, flower }) => {
  await flower.open(page, "/");
  await page.getByRole("navigation", { name: "flower" }).getByRole("link", { name: "Agents" }).click();
  await expect(page.getByText("No agent runs.")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "0 agents running" })).toBeVisible();
  await expectNoSeriousFindings(page);
});

test("agents are listed live, waiting ones first, and queued dispatches with their position", async ({
  page,
  flower,
}) => {
  flower.dispatched("Greet", "hang");
  flower.dispatched("Tax", "usage 4000 10000 0.12 5000\nquestion Which tax?\nwait");
  for (const name of ["Three", "Four", "Five", "Six", "Late", "Last"]) flower.dispatched(name, "hang");
  await flower.open(page, "/agents");
  const table = page.getByRole("table", { name: "Running agents" });
  await expect(table.getByRole("row")).toHaveCount(7, { timeout: 60_000 });
  const first = table.getByRole("row").nth(1);
  await expect(first.getByRole("link", { name: "play-2" })).toBeVisible();
  await expect(first).toContainText("waiting");
  const greet = table.getByRole("row", { name: /play-1/ });
  await expect(greet.getByRole("link", { name: "#1" })).toHaveAttribute("href", "/briefs/1");
  await expect(greet.getByRole("link", { name: "b1-greet" })).toBeVisible();
  await expect(first.getByRole("meter", { name: "Context" })).toHaveAttribute("aria-valuenow", "40");
  await expect(first).toContainText("$0.12");
  const line = page.getByRole("region", { name: "Waiting" }).getByRole("listitem");
  await expect(line).toHaveCount(2);
  await expect(line.first()).toContainText("Late");
  await expect(line.first()).toContainText("in line: 6 of 6 agents run");
  await expectNoSeriousFindings(page);
  await look(page, "agents");
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.locator("main").evaluate((main) => main.scrollWidth - main.clientWidth)).toBe(0);
  await page.setViewportSize({ width: 1440, height: 900 });

  // An agent that ends makes room for the next, and is listed behind the switch.
  flower.run("agent", "stop", "play-1");
  await expect(table.getByRole("row", { name: /play-1/ })).toBeHidden();
  await expect(line.filter({ hasText: "Late" })).toHaveCount(0, { timeout: 30_000 });
  await expect(line.filter({ hasText: "Greet" })).toContainText("play-1 was stopped");
  await page.getByLabel("Show agents that ended today").check();
  const ended = page.getByRole("table", { name: "Agents that ended today" });
  await expect(ended.getByRole("row", { name: /play-1/ })).toContainText("stopped");
});

test("an agent that joined by itself is listed, without what flower does not know of it", async ({ page, flower }) => {
  const { token } = flower.json<{ token: string }>("token", "new", "--agent", "mara");
  await flower.open(page, "/agents");
  await expect(page.getByText("No agent runs.")).toBeVisible();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "x-flower-door": "mcp" };
  await fetch(`${flower.url}/api/tools/list_briefs`, { method: "POST", headers, body: "{}" });
  const row = page.getByRole("table", { name: "Running agents" }).getByRole("row", { name: /mara/ });
  await expect(row).toContainText("joined by itself and has claimed nothing");
  await row.getByRole("link", { name: "mara" }).click();
  await expect(page.getByText("flower did not start mara")).toBeVisible();
  await expect(page.getByRole("button", { name: "Stop" })).toHaveCount(0);
  await expectNoSeriousFindings(page);
  await look(page, "agent-joined");
});

test("by keyboard alone: to the page, down the list, into an agent", async ({ page, flower }) => {
  flower.dispatched("One", "hang");
  flower.dispatched("Two", "hang");
  await flower.open(page, "/");
  await chord(page, "g", "a");
  await expect(page.getByRole("heading", { name: "Agents", level: 1 })).toBeVisible();
  const table = page.getByRole("table", { name: "Running agents" });
  await expect(table.getByRole("row")).toHaveCount(3, { timeout: 30_000 });
  const second = await table.getByRole("row").nth(2).getByRole("rowheader").getByRole("link").textContent();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(page.getByRole("link", { name: second ?? "", exact: true })).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/agents/${second}$`));
  // What asks before it does something gives the focus back to where it was.
  await page.getByRole("button", { name: "Stop" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: `Stop ${second}?` })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Stop" })).toBeFocused();
});

test("the scorecard counts what has ended, as it ends", async ({ page, flower }) => {
  await flower.open(page, "/agents");
  const panel = page.getByRole("region", { name: "Scorecard" });
  await expect(panel).toContainText("No agent has ended a dispatch yet.");
  flower.dispatched("Greet", "usage 1000 200000 0.5 9000\nwrite a.txt hi\ncommit Greet\nhand-back Done.");
  flower.dispatched("Hopeless", "fail It cannot be done.");
  const row = panel.getByRole("table", { name: "Scorecard of agents" }).getByRole("row").last();
  await expect(row).toContainText("1 of 2", { timeout: 60_000 });
  await expect(row).toContainText("1 of 1 (100%)");
  await expect(row).toContainText("play");
  await panel.scrollIntoViewIfNeeded();
  await look(page, "agents-scorecard");
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.locator("main").evaluate((main) => main.scrollWidth - main.clientWidth)).toBe(0);
});

test("spending is shown per day and per brief, and as unknown where agents report none", async ({ page, flower }) => {
  const told = flower.dispatched("Told", "usage 1000 200000 0.75 34000\nsay Done so far.\nwait\nhand-back Done.");
  const silent = flower.dispatched("Silent", "say Nothing to tell.\nsleep 90");
  await flower.open(page, "/agents");
  const days = page.getByRole("table", { name: "Spending by day" });
  await expect(days.getByRole("row").last()).toContainText("$0.75", { timeout: 30_000 });
  await page.getByRole("region", { name: "Spending" }).scrollIntoViewIfNeeded();
  await look(page, "agents-spending");
  await page.goto(`${flower.url}/briefs/${told}`);
  await expect(page.getByText(/spent: .*\$0\.75/)).toBeVisible();
  await look(page, "brief-spent");
  await page.goto(`${flower.url}/briefs/${silent}`);
  await expect(page.getByText("spent: unknown")).toBeVisible({ timeout: 30_000 });
});
