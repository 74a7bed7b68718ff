import { expectNoSeriousFindings } from "./axe";
import { expect, look, test } from "./flower";

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
  await expect(page.getByText("Nothing is called or says")).toBeVisible();
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
  await page.keyboard.press("g");
  await page.keyboard.press("b");
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
  const why = page.getByRole("textbox", { name: "Why, for everybody who waits" });
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
