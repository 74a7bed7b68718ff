import type { Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { chord, expect, look, test } from "./flower";
import { made } from "./lane";

test("briefs by number, by title and by what stands in them; places and shortcuts", async ({ page, flower }) => {
  flower.brief("Paint the door", "# Plan\n\nUse the turquoise varnish.");
  flower.brief("Mend the till");
  await flower.open(page, "/inbox");
  await page.keyboard.press("Control+k");
  const find = page.getByRole("combobox", { name: "Search and commands" });
  await expect(find).toBeFocused();
  const chosen = page.getByRole("dialog").getByRole("option", { selected: true });
  await expect(page.getByRole("option", { name: /New brief/ })).toBeVisible();
  await look(page, "palette");
  await expectNoSeriousFindings(page);

  await page.keyboard.type("#2");
  await expect(chosen).toContainText("Mend the till");
  await find.fill("pnt");
  await expect(page.getByText("Nothing found for")).toBeVisible();
  await find.fill("door pai");
  await expect(chosen).toContainText("Paint the door");
  await expect(find).toHaveAttribute("aria-activedescendant", (await chosen.getAttribute("id"))!);
  await find.fill("turquoise");
  await expect(page.getByRole("group", { name: "Found inside" }).locator("mark").first()).toHaveText("turquoise");
  await look(page, "palette-found");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/briefs\/1$/);

  await page.keyboard.press("Control+k");
  await expect(page.getByRole("group", { name: "Recent" })).toContainText("Paint the door");
  await page.keyboard.type("trace");
  await expect(chosen).toContainText("Trace");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Trace", level: 1 })).toBeVisible();
  await chord(page, "g", "b");
  await expect(page.getByRole("heading", { name: "Briefs", level: 1 })).toBeVisible();
});

test("worktrees, agents and landings are found, and arrows go around", async ({ page, flower }) => {
  flower.run("worktree", "new", "dark-lane");
  flower.dispatched("Greet", "sleep 60");
  await flower.open(page, "/inbox");
  await page.keyboard.press("/");
  const find = page.getByRole("combobox", { name: "Search and commands" });
  await find.fill("dark-l");
  await expect(page.getByRole("group", { name: "Worktrees" }).getByRole("option")).toContainText(["dark-lane"]);
  await find.fill("play");
  await expect(page.getByRole("group", { name: "Agents" }).getByRole("option").first()).toBeVisible({
    timeout: 30_000,
  });
  await find.fill("");
  const options = page.getByRole("option");
  await expect(options.first()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowUp");
  await expect(options.last()).toHaveAttribute("aria-selected", "true");
  await expect(options.last()).toBeInViewport();
  await page.keyboard.press("ArrowDown");
  await expect(options.first()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Escape");
  await expect(find).toBeHidden();
});

test("freezing asks why, thawing is offered afterwards, halting asks first", async ({ page, flower }) => {
  await flower.open(page, "/inbox");
  await page.keyboard.press("Control+k");
  const find = page.getByRole("combobox", { name: "Search and commands" });
  await find.fill("freeze");
  await page.keyboard.press("Enter");
  const why = page.getByRole("textbox", { name: "Reason, shown to waiting agents" });
  await expect(why).toBeFocused();
  await page.keyboard.type("the auditor is here");
  await look(page, "palette-freeze");
  await page.keyboard.press("Enter");
  await expect(page.getByText("MAIN is frozen")).toBeVisible();
  expect(flower.json<{ frozen: string }>("main").frozen).toContain("the auditor is here");

  await page.keyboard.press("Control+k");
  await find.fill("thaw");
  await expect(page.getByRole("option", { selected: true })).toContainText("Thaw MAIN");
  await page.keyboard.press("Enter");
  await expect(page.getByText("MAIN is thawed")).toBeVisible();
  await expect.poll(() => flower.json<{ state: string }>("main").state).toBe("stable");

  await page.keyboard.press("Control+k");
  await find.fill("halt");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Halt everything?" })).toBeVisible();
  await look(page, "palette-halt");
  expect(flower.json<{ state: string }>("main").state).toBe("stable");
  await page.keyboard.press("Escape");
  await expect(find).toBeVisible();
  await find.fill("halt");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Halt everything" }).click();
  await expect(page.getByText("Everything is halted")).toBeVisible();
  expect(flower.json<{ state: string }>("main").state).toBe("frozen");
});

test("help lists every shortcut that counts here, and closes", async ({ page, flower }) => {
  await flower.open(page, "/briefs");
  await expect(page.getByRole("heading", { name: "Briefs", level: 1 })).toBeVisible();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(help).toContainText("New brief");
  await expect(help).toContainText("Next brief");
  await expect(help.getByText("Search briefs")).toBeVisible();
  // The page's own `/` counts here, not the palette's.
  await expect(help.getByText("Search and commands")).toBeHidden();
  await look(page, "help");
  await expectNoSeriousFindings(page);
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();
});

/** What help lists: of two commands with one key only one is there. */
async function listed(page: Page, titles: string[]): Promise<void> {
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  for (const title of titles) await expect(help.locator("dt").getByText(title, { exact: true })).toBeVisible();
  const keys = await help.getByRole("definition").allInnerTexts();
  expect(new Set(keys).size).toBe(keys.length);
  await page.keyboard.press("Escape");
  await expect(help).toBeHidden();
}

test("everything of a worktree is done with keys", async ({ page, flower }) => {
  made(flower, "echo x > src/x.txt");
  await flower.open(page, "/worktrees/lane");
  await expect(page.getByRole("region", { name: "src/x.txt" })).toBeVisible();
  await listed(page, [
    "Sync lane with MAIN",
    "Start an agent in lane",
    "Land lane",
    "Remove lane",
    "Changes",
    "Commits",
    "Reserved paths",
    "Next file",
    "Next line",
    "Comment on this line",
    "Side-by-side diff",
  ]);
  await look(page, "help-worktree");
  await page.keyboard.press("2");
  await expect(page.getByRole("link", { name: "Change it" })).toBeVisible();
  await listed(page, ["Next commit", "Land lane", "Commits"]);
  await page.keyboard.press("3");
  await expect(page.getByText("No reserved paths.")).toBeVisible();
  await page.keyboard.press("1");
  await expect(page.getByRole("region", { name: "src/x.txt" })).toBeVisible();
  await page.keyboard.press("y");
  await expect(page.getByText("MAIN is merged")).toBeVisible();
  for (const [key, name] of [
    ["a", "Start an agent in lane"],
    ["x", "Remove lane?"],
  ] as const) {
    await page.keyboard.press(key);
    await expect(page.getByRole("dialog", { name })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog", { name })).toBeHidden();
  }
  expect(flower.json<{ name: string }[]>("worktree")).toHaveLength(1);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search and commands" }).fill("land lane");
  await expect(page.getByRole("option", { selected: true })).toContainText("Land lane");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Land lane" })).toBeVisible();
});

test("everything of MAIN and of a landing is done with keys, and what cannot be undone asks first", async ({
  page,
  flower,
}) => {
  made(flower, "echo be kind > CLAUDE.md");
  flower.run("land", "lane");
  await flower.open(page, "/landing");
  await expect(page.getByRole("article", { name: /Landing 1/ })).toContainText("approval");
  const main = ["Verify MAIN", "Pull new commits from MAIN's remote", "Push MAIN to its remote", "Halt everything"];
  await listed(page, [...main, "Freeze MAIN", "Approve landing 1", "Cancel landing 1", "Next landing"]);
  const asks = async (key: string, name: string) => {
    await page.keyboard.press(key);
    await expect(page.getByRole("dialog", { name })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog", { name })).toBeHidden();
  };
  await asks("v", "Does MAIN match the log?");
  await asks("h", "Halt everything?");
  await asks("x", "Cancel landing 1?");
  await asks("f", "Freeze MAIN?");
  // Without a remote flower says so.
  for (const key of ["u", "U"]) {
    await page.keyboard.press(key);
    await expect(
      page
        .locator("[aria-live=polite]")
        .getByText(/remote/)
        .first(),
    ).toBeVisible();
    await page.getByRole("button", { name: "Dismiss" }).first().click();
  }
  // The page's own way stands in the palette, once.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search and commands" }).fill("freeze main");
  await expect(page.getByRole("option", { name: /Freeze MAIN/ })).toHaveCount(1);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Freeze MAIN?" }).getByRole("button", { name: "Freeze it" }).click();
  await expect(page.getByText("MAIN frozen")).toBeVisible();
  await page.keyboard.press("f");
  await expect(page.getByText("MAIN stable")).toBeVisible();

  // With two that wait, keys mean the one that was gone to.
  flower.run("worktree", "new", "other", "--lane", "--linked");
  const tree = flower.run("worktree", "path", "other").trim();
  flower.git("-C", tree, "-c", "alias.make=!echo be brief > AGENTS.md", "make");
  flower.git("-C", tree, "add", "--all");
  flower.git("-C", tree, "commit", "--quiet", "--message", "Other");
  flower.run("land", "other");
  await expect(page.getByRole("button", { name: "Approve landing 2" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("button", { name: "Approve landing 2" })).toBeVisible();
  await page.keyboard.press("a");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await asks("x", "Cancel landing 2?");
  expect(flower.json<{ state: string }>("queue", "show", "1").state).toBe("approval");
  expect(flower.json<{ state: string }>("queue", "show", "2").state).toBe("approval");

  await page.goto(`${flower.url}/landing/1`);
  await expect(page.getByRole("region", { name: "CLAUDE.md" })).toBeVisible();
  await listed(page, ["Approve landing 1", "Cancel landing 1", "Next file", "Side-by-side diff"]);
  await asks("a", "Approve landing 1?");
  expect(flower.json<{ state: string }>("queue", "show", "1").state).toBe("approval");
  await page.keyboard.press("a");
  await page.getByRole("dialog").getByRole("button", { name: "Approve landing 1" }).click();
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
  await asks("r", "Revert landing 1?");
});

test("what the arrows have chosen stays chosen when more is found", async ({ page, flower }) => {
  for (const title of ["Paint the door", "Paint the fence", "Paint the gate"]) flower.brief(title);
  await flower.open(page, "/inbox");
  let go = () => undefined as void;
  const held = new Promise<void>((done) => (go = done));
  await page.route("**/api/brief-rows*", async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press("Control+k");
  // The daemon finds it in titles while the rows of the page are still on their way.
  await page.keyboard.type("paint the");
  const options = page.getByRole("option");
  await expect(options).toHaveCount(3);
  await page.keyboard.press("ArrowDown");
  const chosen = page.getByRole("option", { selected: true });
  const title = (await chosen.locator(".title").textContent())!;
  const place = () => options.evaluateAll((all) => all.findIndex((one) => one.ariaSelected === "true"));
  expect(await place()).toBe(1);
  go();
  await expect(page.getByRole("group", { name: "Briefs" })).toBeVisible();
  await expect(chosen.locator(".title")).toHaveText(title);
  expect(await place(), "they are in another order now").not.toBe(1);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(title);
});
