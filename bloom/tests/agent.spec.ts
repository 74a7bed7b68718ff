import { expectNoSeriousFindings } from "./axe";
import { expect, look, test, type Flower } from "./flower";

/** Each has a daemon, agents and pictures of its own. */
test.describe.configure({ timeout: 120_000 });

const WORK = [
  "think I should look around first",
  "say I will **greet** them.",
  "plan Read it; Write it; Hand back",
  "write src/hello.txt hi\\nthere",
  "write src/app.txt one\\n2\\nthree",
  "run echo printed; ls",
  "commit Greet all",
  "usage 4000 10000 0.12 5000",
].join("\n");

/** An agent that has worked, and waits to be told something. */
function busy(flower: Flower, more = "sleep 2\nsay That was live.\nquestion Which colour?\nwait\nhang"): void {
  flower.dispatched("Greet", `${WORK}\n${more}`);
}

test("a transcript appears live, with its plan, tools and diffs", async ({ page, flower }) => {
  busy(flower);
  await flower.open(page, "/agents/play-1");
  const log = page.getByRole("log", { name: "Transcript of play-1" });
  await expect(log.getByText("I will greet them.")).toBeVisible();
  await expect(log.locator("strong", { hasText: "greet" })).toBeVisible();
  await expect(log.getByText("Plan · 0 of 3 done")).toBeVisible();
  await expect(log.getByText("That was live.")).toBeVisible();
  const tool = log.getByRole("button", { name: /completed Write src\/app\.txt/ });
  await expect(tool).toHaveCount(1);
  await tool.click();
  await expect(log.getByRole("table", { name: "Changes of src/app.txt" })).toContainText("two");
  await log.getByRole("button", { name: /echo printed; ls/ }).click();
  await expect(log.locator("pre", { hasText: "flower.toml" })).toBeVisible();
  await expect(page.getByText("$0.12")).toBeVisible();
  await expect(page.getByRole("meter", { name: "Context" })).toHaveAttribute("aria-valuenow", "40");
  await expectNoSeriousFindings(page);
  await look(page, "agent");
});

test("an agent hears what it is told, and two windows see it", async ({ page, context, flower }) => {
  busy(flower);
  await flower.open(page, "/agents/play-1");
  const other = await context.newPage();
  await other.goto(`${flower.url}/agents/play-1`);
  await expect(page.getByText("That was live.")).toBeVisible();
  await page.getByRole("textbox", { name: "Message to play-1" }).fill("Please be kind");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("textbox", { name: "Message to play-1" })).toHaveValue("");
  for (const window of [page, other]) await expect(window.getByText("Please be kind").last()).toBeVisible();
  await page.getByRole("button", { name: "Ask for a note" }).click();
  await expect(page.getByText("play-1 is asked for a note")).toBeVisible();
});

test("an agent is stopped only when that is confirmed, and its page stays", async ({ page, flower }) => {
  busy(flower, "hang");
  await flower.open(page, "/agents/play-1");
  await page.getByRole("button", { name: "Stop" }).click();
  const dialog = page.getByRole("dialog", { name: "Stop play-1?" });
  await expect(dialog).toContainText("b1-greet");
  await dialog.getByRole("button", { name: "Leave it" }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole("button", { name: "Stop" }).click();
  await dialog.getByRole("button", { name: "Stop it" }).click();
  await expect(page.getByText("stopped", { exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "Stop" })).toHaveCount(0);
  await expect(page.getByRole("textbox", { name: "Message to play-1" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByText("I will greet them.")).toBeVisible();
});

test("an agent is replaced by a fresh one only when that is confirmed", async ({ page, flower }) => {
  busy(flower, "once wait\nhang");
  await flower.open(page, "/agents/play-1");
  await expect(page.getByText("I will greet them.")).toBeVisible();
  const button = page.getByRole("button", { name: "Hand over to a fresh agent…" });
  await button.click();
  const dialog = page.getByRole("dialog", { name: "Hand play-1 over to a fresh agent?" });
  await expect(dialog).toContainText("a fresh play starts in its place");
  await expect(dialog).toContainText("same brief #1");
  await expectNoSeriousFindings(page);
  await look(page, "agent-hand-over");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(button).toBeFocused();
  const refreshes = () => flower.json<{ refreshes: number }>("agent", "show", "play-1").refreshes;
  expect(refreshes()).toBe(0);
  expect(flower.run("trace")).not.toContain("agent_refreshed");

  // The palette asks too.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search and commands" }).fill("fresh agent");
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Start a fresh play" }).click();
  await expect(page.getByText("1 refresh", { exact: true })).toBeVisible({ timeout: 30_000 });
});

test("the transcript follows its end until it is scrolled up", async ({ page, flower }) => {
  flower.dispatched(
    "Talk",
    `${"say A line of talk.\nrun true\n".repeat(80)}question Which colour?\nsay All is said.\nrun true\nwait\n${"say Later talk.\nrun true\n".repeat(20)}say The very end.\nrun true\nhang`,
  );
  await flower.open(page, "/agents/play-1");
  const log = page.getByRole("log", { name: "Transcript of play-1" });
  // The agent is silent from here on: entries below would change the label of the button.
  await expect(log.getByText("All is said.")).toBeInViewport();
  await expect(page.getByText("waiting", { exact: true }).first()).toBeVisible();
  await expect(log.getByText("A line of talk.").last()).toBeInViewport();
  await expect(log.getByRole("button", { name: "Jump to the end" })).toHaveCount(0);
  await log.hover();
  await page.mouse.wheel(0, -1500);
  await expect(log.getByRole("button", { name: "Jump to the end" })).toBeVisible();
  flower.run("agent", "tell", "play-1", "go on");
  await log.getByRole("button", { name: "New entries" }).click();
  await expect(log.getByText("The very end.")).toBeInViewport();
});

test("a terminal can be watched, and typed into only after the keyboard was taken", async ({ page, flower }) => {
  flower.run("worktree", "new", "lane", "--lane");
  flower.run("agent", "spawn", "sh", "--worktree", "lane", "--standing");
  await flower.open(page, "/agents/sh-1");
  const terminal = page.getByRole("group", { name: "Terminal of sh-1" });
  const take = page.getByRole("button", { name: "Take the keyboard" });
  await expect(take).toBeEnabled();
  await terminal.click();
  await page.keyboard.type("echo unwanted$((1+1))\n");
  await take.click();
  await page.keyboard.type("echo typed$((40+2))\n");
  await expect(terminal).toContainText("typed42");
  await expect(terminal).not.toContainText("unwanted");
  await page.keyboard.type(
    "printf '\\033]0;evil\\007\\033]52;c;ZXZpbA==\\007'; printf '\\033]8;;http://127.0.0.1:1/x\\007link\\033]8;;\\007\\n'\n",
  );
  await expect(terminal.getByText("link", { exact: true }).first()).toBeVisible();
  await expect(page).toHaveTitle("sh-1 · flower");
  await expectNoSeriousFindings(page);
  await look(page, "terminal");
  await page.keyboard.press("Control+]");
  await expect(take).toBeVisible();
});
