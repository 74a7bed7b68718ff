import type { Locator, Page } from "@playwright/test";
import { expect, look, test } from "./flower";

/** Whether two things lie on each other. */
async function overlap(one: Locator, other: Locator): Promise<boolean> {
  const [a, b] = [(await one.boundingBox())!, (await other.boundingBox())!];
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

const toast = (page: Page, text: string) => page.getByRole("listitem").filter({ hasText: text });

test("a toast never covers the focused field", async ({ page, flower }) => {
  flower.dispatched("Greet", "say Hello.\nhang");
  await flower.open(page, "/agents/play-1");
  const tell = page.getByRole("textbox", { name: "Message to play-1" });
  for (const size of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(size);
    await tell.fill("Be kind");
    await page.keyboard.press("Enter");
    const heard = toast(page, "Message sent to play-1");
    await expect(heard).toBeVisible();
    expect(await overlap(heard, tell), `at ${size.width} px`).toBe(false);
    await look(page, "toast");
    await heard.getByRole("button", { name: "Dismiss" }).click();
    await expect(heard).toBeHidden();
  }
});

test("a toast moves away from a field at its position", async ({ page, flower }) => {
  const number = flower.brief("Shelves", "# Plan");
  await page.setViewportSize({ width: 1440, height: 500 });
  await flower.open(page, `/briefs/${number}`);
  await page.route("**/api/briefs/*/needs", (route) =>
    route.fulfill({ status: 409, json: { error: { kind: "conflict", message: "not now", hints: [] } } }),
  );
  flower.brief("Nails");
  const picker = page.getByRole("combobox", { name: "Add a dependency" });
  await picker.evaluate((field) => {
    const main = document.querySelector("main")!;
    main.scrollTop += field.getBoundingClientRect().top - 140;
  });
  await picker.fill("nails");
  await expect(page.getByRole("option", { name: /Nails/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(toast(page, "not now")).toBeVisible();
  await expect.poll(() => overlap(toast(page, "not now"), picker)).toBe(false);
  await expect(picker).toBeFocused();
  // Somewhere else in the page it goes back to its place.
  await page.getByRole("textbox", { name: "Comment" }).focus();
  await expect.poll(async () => (await toast(page, "not now").boundingBox())!.y).toBeLessThan(200);
});

test("what fails in a dialog is told in it, and can be put away there", async ({ page, flower }) => {
  await flower.open(page, "/briefs");
  await page.route("**/api/briefs", (route) =>
    route.fulfill({ status: 409, json: { error: { kind: "conflict", message: "the disk is full", hints: [] } } }),
  );
  await page.keyboard.press("c");
  const dialog = page.getByRole("dialog", { name: "New brief" });
  await dialog.getByLabel("Title").fill("Keep me");
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await dialog.getByRole("button", { name: "Create brief" }).click();
    const told = toast(page, "the disk is full");
    await expect(dialog.getByText("the disk is full")).toBeInViewport();
    for (const field of await dialog.getByRole("textbox").all()) expect(await overlap(told, field)).toBe(false);
    await look(page, "toast-dialog");
    await dialog.getByRole("button", { name: "Dismiss" }).click();
    await expect(told).toBeHidden();
  }
});

/** Opens with a key, closes with Escape; the focus is where it was. */
async function comesAndGoes(page: Page, from: Locator, key: string, name: string | RegExp): Promise<void> {
  await from.focus();
  await page.keyboard.press(key);
  const dialog = page.getByRole("dialog", { name });
  await expect(dialog).toBeVisible();
  const inside = () => page.evaluate(() => document.activeElement?.closest("dialog") !== null);
  expect(await inside(), `${String(name)} has the focus`).toBe(true);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(from).toBeFocused();
}

test("every dialog is opened, left with Escape, and gives the focus back", async ({ page, flower }) => {
  const number = flower.brief("Shelves", "# Plan");
  flower.run("scratchpad", "new", "Thoughts", "--brief", String(number));
  flower.run("brief", "accept", String(number));
  flower.run("dispatch", String(number));
  await flower.open(page, `/briefs/${number}`);
  const button = (name: string | RegExp) => page.getByRole("button", { name });
  await comesAndGoes(page, button("Rename"), "Control+k", "Search and commands");
  await comesAndGoes(page, button("Rename"), "?", "Keyboard shortcuts");
  await comesAndGoes(page, button("Rename"), "c", "New brief");
  await comesAndGoes(page, button("Rename"), "v", "Versions of the spec");
  await comesAndGoes(page, button("Rename"), "x", `Graph of #${number}`);
  await comesAndGoes(page, button(/^version 1/), "Enter", "Versions of the spec");
  await comesAndGoes(page, button("Graph"), "Enter", `Graph of #${number}`);
  await comesAndGoes(page, button("Add a link"), "Enter", /Add a link/);
  await comesAndGoes(page, button(/Scratchpad #1/), "Enter", "Scratchpad #1");
  await comesAndGoes(page, button("Packet"), "Enter", "Packet of dispatch 1");
  // A menu gives the focus to its button first.
  const status = button(/Status: /);
  await status.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("menuitem", { name: "Park" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("textbox", { name: "Why" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(status).toBeFocused();
});

test("what is typed as soon as a dialog opens goes into its first field", async ({ page, flower }) => {
  flower.dispatched("Greet", "hang");
  flower.run("worktree", "new", "lane", "--lane");
  const opens: [path: string, key: string, dialog: string | RegExp, field: string][] = [
    ["/landing", "f", "Freeze MAIN?", "Why"],
    ["/landing", "h", "Halt everything?", "Why"],
    ["/worktrees/lane", "l", "Land lane", "Title"],
    ["/worktrees", "n", "New worktree", "Name"],
    ["/settings", "t", "New token", "Name of the agent"],
  ];
  await flower.open(page);
  for (const [path, key, name, field] of opens) {
    await page.goto(`${flower.url}${path}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    const dialog = page.getByRole("dialog", { name });
    await expect(async () => {
      await page.keyboard.press(key);
      await expect(dialog).toBeVisible({ timeout: 1_000 });
    }).toPass();
    await page.keyboard.type("Release day");
    await expect(dialog.getByRole("textbox", { name: field })).toHaveValue("Release day");
    await page.keyboard.press("Escape");
  }
  await page.goto(`${flower.url}/agents/play-1`);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByRole("textbox", { name: "Reason (optional)" })).toBeFocused();
  await page.keyboard.press("Escape");
  // Profiles are read once the dialog is open.
  await page.goto(`${flower.url}/worktrees/lane`);
  await page.getByRole("button", { name: "Start an agent" }).click();
  await expect(page.getByRole("dialog").getByRole("radio").first()).toBeFocused();
});

test("the palette is left step by step, and what it opens comes after it", async ({ page, flower }) => {
  await flower.open(page, "/briefs");
  const from = page.getByRole("searchbox", { name: "Search briefs" });
  await from.focus();
  await page.keyboard.press("Control+k");
  const find = page.getByRole("combobox", { name: "Search and commands" });
  await find.fill("freeze");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("textbox", { name: "Reason, shown to waiting agents" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(find).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(from).toBeFocused();
  await page.keyboard.press("Control+k");
  await find.fill("new brief");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "New brief" }).getByLabel("Title")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(from).toBeFocused();
});

test("a selection that ends outside closes no dialog, a click outside does", async ({ page, flower }) => {
  await flower.open(page, "/briefs");
  await page.keyboard.press("c");
  const dialog = page.getByRole("dialog", { name: "New brief" });
  const title = dialog.getByLabel("Title");
  await title.fill("Select me");
  const box = (await title.boundingBox())!;
  await page.mouse.move(box.x + 60, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(10, 10, { steps: 4 });
  await page.mouse.up();
  await expect(dialog).toBeVisible();
  await page.mouse.click(10, 10);
  await expect(dialog).toBeHidden();
});
