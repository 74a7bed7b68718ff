import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { expect, look, test, type Flower } from "./flower";
import { grown, plant } from "./garden";

const GREET = "write src/hello.txt hi\ncommit greet\nhand-back done";

/** Waits until MAIN has it. */
async function landed(flower: Flower, brief: number): Promise<void> {
  const status = () => flower.json<{ status: string }>("brief", "show", String(brief)).status;
  await expect.poll(status, { timeout: 60_000 }).toBe("landed");
}

test("a flower with nothing in it explains itself, and its first brief lands", async ({ page, flower }) => {
  test.slow();
  await flower.open(page);
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Get started" })).toBeVisible();
  await expectNoSeriousFindings(page);
  await look(page, "home-first");

  await page.getByLabel("Title").fill("Greet");
  await page.getByLabel("What should be done").fill(`\`\`\`play\n${GREET}\n\`\`\``);
  await page.getByRole("button", { name: "Write the brief" }).click();
  await expect(page.getByRole("heading", { name: /Write a brief.*done/ })).toBeVisible();
  await page.getByRole("combobox", { name: "Agent" }).selectOption("play");
  await look(page, "home-second");
  await page.getByRole("button", { name: "Accept the plan and give it to play" }).click();
  // What landed ends the first steps.
  await expect(page.getByRole("heading", { name: "Get started" })).toBeHidden({ timeout: 60_000 });
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
});

test("what landed is said, blooms on the stem, and stands in the table", async ({ page, flower }) => {
  const brief = flower.dispatched("Greet", GREET);
  await landed(flower, brief);
  await flower.open(page);
  const now = page.getByRole("region", { name: "MAIN is stable" });
  await expect(now.getByRole("link", { name: "Greet" })).toBeVisible();
  await expect(now.getByRole("link", { name: `#${brief}` })).toHaveAttribute("href", `/briefs/${brief}`);
  const stem = page.getByRole("group", { name: "The stem of MAIN" });
  await expect(stem.getByRole("link", { name: /^landed: Greet/ })).toHaveAttribute("href", "/landing/1");
  await look(page, "home-landed");
  await page.getByRole("button", { name: "As a table" }).click();
  await expect(page.getByRole("row", { name: /landed Greet/ })).toBeVisible();
  await expect(stem).toBeHidden();
  await look(page, "home-table");
});

test("a question is answered where it stands, and leaves two windows by itself", async ({ page, context, flower }) => {
  flower.dispatched("Tax", "question Which **tax** counts?\nwait\nhand-back done");
  await flower.open(page);
  const other = await context.newPage();
  await flower.open(other);
  const asked = (of: Page) => of.getByRole("article", { name: "question: Tax" });
  await expect(asked(page)).toBeVisible({ timeout: 20_000 });
  await expect(asked(other)).toBeVisible();
  await look(page, "home-question");
  await asked(page).getByLabel("Your answer").fill("The German one");
  await asked(page).getByLabel("Your answer").press("Control+Enter");
  await expect(asked(page)).toBeHidden();
  await expect(asked(other)).toBeHidden();
  expect(flower.run("brief", "trace", "1")).toContain("The German one");
});

test("an answer that fails is not lost, and the reason is shown", async ({ page, flower }) => {
  const brief = flower.brief("Tax");
  flower.run("brief", "ask", String(brief), "Which tax?");
  await flower.open(page);
  await page.route("**/answer", (route) => route.abort());
  const field = page.getByLabel("Your answer");
  await field.fill("The German one");
  await page.getByRole("button", { name: "Answer" }).click();
  await expect(page.getByText("flower does not answer", { exact: true })).toBeVisible();
  await expect(field).toHaveValue("The German one");
  await page.reload();
  await expect(field).toHaveValue("The German one");
});

test("a permission is denied with a reason, which the agent gets", async ({ page, flower }) => {
  flower.dispatched("Clean", "permission fetch Look at the manual\nhand-back done");
  await flower.open(page);
  const item = page.getByRole("article", { name: /^permission:/ });
  await expect(item).toContainText("Look at the manual", { timeout: 20_000 });
  await look(page, "home-permission");
  await item.getByRole("button", { name: "Give a reason" }).click();
  await item.getByLabel("Reason, for the agent").fill("It is all in here");
  await item.getByRole("button", { name: "Deny" }).click();
  await expect(item).toBeHidden();
  await expect.poll(() => flower.run("trace")).toContain("It is all in here");
});

test("a result that waits is accepted from home", async ({ page, flower }) => {
  const brief = flower.dispatched("Checkout", "hand-back nothing to change");
  await flower.open(page);
  const item = page.getByRole("article", { name: "to accept: Checkout" });
  await item.getByRole("button", { name: "Accept" }).click();
  await expect(item).toBeHidden();
  expect(flower.json<{ status: string }>("brief", "show", String(brief)).status).toBe("done");
});

test("frozen MAIN says why and is thawed here", async ({ page, flower }) => {
  await flower.open(page);
  flower.run("freeze", "holidays");
  await expect(page.getByRole("heading", { name: "MAIN is frozen" })).toBeVisible();
  await expect(page.getByText("holidays")).toBeVisible();
  await look(page, "home-frozen");
  await page.getByRole("button", { name: "Thaw" }).click();
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
});

test("a project without checks has a banner, which leads to a proposal and ends with the first check", async ({
  page,
  flower,
}) => {
  flower.project("yard", "[land]\nretries = 0\n");
  await flower.open(page);
  const banner = page.getByRole("note", { name: "No checks" });
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  await expect(banner).toBeHidden();
  await page.getByRole("navigation", { name: "flower" }).getByRole("combobox").selectOption("yard");
  await expect(banner).toBeVisible();
  await expectNoSeriousFindings(page);
  await look(page, "home-no-checks");
  await banner.getByRole("link", { name: "Propose checks" }).click();
  await expect(page.getByRole("heading", { name: "Rules of yard" })).toBeVisible();

  await page.goBack();
  await expect(banner).toBeVisible();
  flower.run("worktree", "new", "checks", "--project", "yard");
  const dir = flower.run("worktree", "path", "checks", "--project", "yard").trim();
  writeFileSync(join(dir, "flower.toml"), '[checks]\nok = { run = "true" }\n');
  const author = ["-c", "user.name=Mike", "-c", "user.email=mike@example.com"];
  flower.git("-C", dir, ...author, "commit", "--quiet", "--all", "--message", "Check it");
  const landing = flower.json<{ id: number }>("land", "checks", "--project", "yard").id;
  const state = () => flower.json<{ state: string }>("queue", "show", String(landing)).state;
  await expect.poll(state, { timeout: 30_000 }).toBe("approval");
  flower.run("queue", "approve", String(landing), "--wait");
  await expect(banner).toBeHidden();
});

test("what was changed in MAIN by hand becomes a worktree", async ({ page, flower }) => {
  await flower.open(page);
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  flower.write("src/app.txt", "by hand\n");
  flower.run("main");
  await expect(page.getByRole("heading", { name: "Something was changed in MAIN by hand" })).toBeVisible();
  await expect(page.getByText("src/app.txt").first()).toBeVisible();
  await look(page, "home-alarm");
  await expectNoSeriousFindings(page);
  await page.getByRole("button", { name: "Move it to a worktree" }).click();
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  await expect(page.getByRole("link", { name: /^worktree: / })).toBeVisible();
});

test("work in progress grows on the stem and stands among the worktrees", async ({ page, flower }) => {
  test.slow();
  const first = flower.dispatched("Greet", GREET);
  await landed(flower, first);
  await flower.open(page);
  flower.dispatched(
    "Longer",
    "usage 60000 100000 1.25\nwrite src/a.txt a\ncommit a\nsay working\nsleep 90\nhand-back done",
  );
  const stem = page.getByRole("group", { name: "The stem of MAIN" });
  await expect(stem.getByRole("link", { name: /^worktree: / })).toBeVisible({ timeout: 20_000 });
  await expect(stem.getByRole("link", { name: /^agent: play/ })).toBeVisible();
  const row = page.getByRole("region", { name: "Worktrees" }).getByRole("row").nth(1);
  await expect(row).toContainText("play");
  await expect(row).toContainText("working");
  await look(page, "home-working");
  await expectNoSeriousFindings(page);
});

test("commands of flower.toml are read and let run from home", async ({ page, flower }) => {
  let approved = false;
  const given: unknown[] = [];
  await page.route("**/api/projects/shop/commands", (route) => {
    if (route.request().method() === "POST") {
      given.push(route.request().postDataJSON());
      approved = true;
    }
    const many = Array.from({ length: 60 }, (_, index) => `test ${index + 1}`);
    const commands = ["! grep -rq ruined src", "npm run \u202Etset", ...many, "make all", "make all", "rm -rf last"];
    return route.fulfill({ json: { project: "shop", commands, sha256: "abc", approved } });
  });
  await flower.open(page);
  const section = page.getByRole("region", { name: /of flower.toml wait for your approval/ });
  await expect(section).toContainText("grep -rq ruined src", { timeout: 20_000 });
  await expect(section).toContainText("U+202E");
  // None is let run unseen, and many take no more room than some.
  const commands = section.getByRole("list", { name: "Commands" });
  await expect(commands.getByRole("listitem")).toHaveCount(65);
  expect((await commands.boundingBox())?.height).toBeLessThan(460);
  await commands.getByText("rm -rf last").scrollIntoViewIfNeeded();
  await expect(commands.getByText("rm -rf last")).toBeInViewport();
  await look(page, "home-commands");
  await section.getByRole("button", { name: "Approve" }).click();
  await expect(section).toBeHidden();
  expect(given).toEqual([{ sha256: "abc" }]);
});

test("reduced motion is respected", async ({ page, flower }) => {
  await plant(page, grown(8));
  const moving = () =>
    page.evaluate(() => document.getAnimations().filter((one) => one.playState === "running").length);
  await flower.open(page);
  await expect(page.getByRole("link", { name: /^agent: / }).first()).toBeVisible();
  expect(await moving()).toBeGreaterThan(0);
  await page.emulateMedia({ reducedMotion: "reduce" });
  await expect.poll(moving).toBe(0);
});

test("an unknown page links to other pages", async ({ page, flower }) => {
  await flower.open(page, "/nowhere");
  await expect(page.getByRole("heading", { name: "There is no such page" })).toBeVisible();
  await look(page, "home-nowhere");
  await page.getByRole("main").getByRole("link", { name: "Home" }).click();
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
});

test("the stem of a busy project is read, pointed at and walked through by keyboard", async ({ page, flower }) => {
  await plant(page, grown(8));
  await flower.open(page);
  const stem = page.getByRole("group", { name: "The stem of MAIN" });
  await expect(stem.getByRole("link", { name: /^worktree: / })).toHaveCount(8);
  await expect(stem.getByRole("link", { name: /^checking: Checkout in one step/ })).toBeVisible();
  await expect(stem.getByRole("link", { name: /^rejected: / })).toHaveCount(4);
  await expect(stem.getByRole("link", { name: /^rolled back: / })).toHaveCount(1);
  await stem.getByRole("link", { name: /^checking: / }).focus();
  await expect(page.getByText("`test` runs on the merged tree").last()).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(stem.getByRole("link", { name: /^approval: / })).toBeFocused();
  await page.mouse.move(0, 0);
  await stem.scrollIntoViewIfNeeded();
  await look(page, "stem-busy");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/landing\/92$/);
});

test("the stem stays readable with sixty worktrees", async ({ page, flower }) => {
  test.slow();
  await plant(page, grown(60, 40));
  for (const width of [390, 1440, 2560]) {
    await page.setViewportSize({ width, height: 900 });
    await flower.open(page);
    const stem = page.getByRole("group", { name: "The stem of MAIN" });
    await expect(stem.getByRole("link", { name: /^worktree: / })).toHaveCount(60);
    const written = await stem
      .locator("text")
      .evaluateAll((texts) => texts.filter((text) => text.getBoundingClientRect().width > 0).length);
    expect(written, `names at ${width} px`).toBeGreaterThan(60);
    const overlaps = await stem.locator("text.strong").evaluateAll((texts) => {
      const boxes = texts.map((text) => ({ name: text.textContent, box: text.getBoundingClientRect() }));
      return boxes.flatMap(({ name, box }, index) =>
        boxes
          .slice(index + 1)
          .filter(({ box: other }) => {
            const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
            const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
            return wide > 1 && high > 4;
          })
          .map((other) => `${name} and ${other.name}`),
      );
    });
    expect(overlaps, `names over each other at ${width} px`).toEqual([]);
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(sideways).toBeLessThanOrEqual(0);
    await page.getByRole("heading", { name: "The stem" }).evaluate((element) => element.scrollIntoView());
    await page.screenshot({ path: `.screenshots/stem-sixty-${width}.png` });
    // What does not fit above MAIN says so, and leads there.
    const above = page.getByRole("button", { name: /^\d+ worktrees? above$/ });
    if (width === 1440) {
      await above.click();
      await expect(above).toBeHidden();
    }
  }
});
