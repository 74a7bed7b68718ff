import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { expect, Flower, look, test as base } from "./flower";

/** Here flower has a default agent, so that what is dispatched by itself starts one. */
const test = base.extend({
  // eslint-disable-next-line no-empty-pattern -- playwright reads the names of fixtures from the pattern
  flower: async ({}, use) => {
    const flower = new Flower();
    const settings = readFileSync(join(flower.repo, "flower.toml"), "utf8");
    flower.write("flower.toml", `${settings}default = "play"\n`);
    flower.git("commit", "--quiet", "--all", "--message", "An agent by default");
    await flower.up();
    await use(flower);
    await flower.close();
  },
});

const SPEC = "# Plan\n\n```play\nhang\n```\n";

/** Everything that the page asks flower to change from now on. */
function writesOf(page: Page): string[] {
  const writes: string[] = [];
  page.on("request", (request) => {
    if (request.method() !== "GET") writes.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  return writes;
}

interface Shown {
  status: string;
  auto_dispatch: boolean;
  design_loop: boolean;
}
const shown = (flower: Flower, number: number) => flower.json<Shown>("brief", "show", String(number));
const dispatches = (flower: Flower) => flower.json<{ kind: string; brief: number }[]>("dispatch", "list", "--all");

for (const status of ["draft", "planned"]) {
  test(`typing with nothing focused starts nothing on a brief that is ${status}`, async ({ page, flower }) => {
    const number = flower.brief("Shelves", SPEC);
    if (status === "planned") flower.run("brief", "accept", String(number));
    await flower.open(page, `/briefs/${number}`);
    await expect(page.getByRole("switch", { name: /Auto-dispatch/ })).toBeEnabled();
    const before = shown(flower, number);
    const writes = writesOf(page);
    await page.keyboard.type("just an idea", { delay: 60 });
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.keyboard.type("you do go on about it\n", { delay: 60 });
    await page.keyboard.press("Escape");
    expect(writes).toEqual([]);
    expect(shown(flower, number)).toEqual(before);
    expect(dispatches(flower)).toEqual([]);
  });
}

test("a switch that starts an agent asks, by key and by mouse, and Escape leaves everything as it was", async ({
  page,
  flower,
}) => {
  const number = flower.brief("Shelves", SPEC);
  flower.run("brief", "accept", String(number));
  await flower.open(page, `/briefs/${number}`);
  const writes = writesOf(page);
  const auto = page.getByRole("switch", { name: /Auto-dispatch/ });
  const question = page.getByRole("dialog", { name: `Turn on auto-dispatch for #${number}?` });
  await expect(auto).toBeEnabled();

  await page.keyboard.press("o");
  const design = page.getByRole("dialog", { name: `Turn on design-loop for #${number}?` });
  await expect(design).toContainText("without another question");
  await look(page, "starts-design-loop");
  await page.keyboard.press("Escape");
  await expect(design).toBeHidden();

  await page.keyboard.press("u");
  await expect(question).toContainText(`The default agent of shop starts at once to build #${number} “Shelves”.`);
  await expect(question.getByRole("button", { name: "Leave it" })).toBeFocused();
  await expectNoSeriousFindings(page);
  await look(page, "starts-auto-dispatch");
  await page.keyboard.press("Escape");
  await expect(question).toBeHidden();

  await auto.click();
  await expect(question).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(auto).not.toBeChecked();
  await expect(auto).toBeFocused();
  expect(writes).toEqual([]);
  expect(shown(flower, number)).toMatchObject({ status: "planned", auto_dispatch: false, design_loop: false });
  expect(dispatches(flower)).toEqual([]);

  await auto.click();
  await question.getByRole("button", { name: "Turn on auto-dispatch and start a build agent" }).click();
  await expect(page.getByRole("list", { name: "Dispatches" })).toContainText("play-1");
  await expect(auto).toBeChecked();
  // Off starts nothing.
  await auto.click();
  await expect(auto).not.toBeChecked();
  await expect.poll(() => shown(flower, number).auto_dispatch).toBe(false);
});

test("a plan whose acceptance starts an agent is accepted only when that is confirmed", async ({ page, flower }) => {
  const number = flower.brief("Shelves", "", "--auto-dispatch");
  // What an agent plans waits in the inbox too.
  const { token } = flower.json<{ token: string }>("token", "new", "--agent", "planner", "--role", "orchestrator");
  const planned = await fetch(`${flower.url}/api/briefs/${number}/plan`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ markdown: SPEC }),
  });
  expect(planned.ok).toBe(true);
  await flower.open(page, `/briefs/${number}`);
  const question = page.getByRole("dialog", { name: `Accept plan of #${number}?` });
  const start = question.getByRole("button", { name: "Accept plan and start a build agent" });
  const writes = writesOf(page);
  await page.getByRole("button", { name: "Accept plan" }).click();
  await expect(start).toBeVisible();
  await look(page, "starts-accept");
  await page.keyboard.press("Escape");
  await expect(question).toBeHidden();
  await page.keyboard.press("a");
  await expect(start).toBeVisible();
  await page.keyboard.press("Escape");

  await page.goto(`${flower.url}/inbox`);
  await page.getByRole("button", { name: "Accept" }).click();
  await expect(start).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(question).toBeHidden();
  // By key: the first press goes to the item, the second one asks.
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await expect(start).toBeVisible();
  expect(writes).toEqual([]);
  expect(shown(flower, number).status).toBe("draft");
  await start.click();
  await expect.poll(() => dispatches(flower)).toHaveLength(1);
});

test("removing the dependency that holds an agent back asks first", async ({ page, flower }) => {
  const needs = flower.brief("Nails");
  const number = flower.brief("Shelves", SPEC, "--auto-dispatch", "--needs", String(needs));
  flower.run("brief", "accept", String(number));
  await flower.open(page, `/briefs/${number}`);
  const remove = page.getByRole("button", { name: `Remove #${needs}` });
  const question = page.getByRole("dialog", { name: `Remove #${needs} from what #${number} depends on?` });
  await remove.click();
  await expect(question).toContainText("The default agent of shop starts at once");
  await page.keyboard.press("Escape");
  await expect(remove).toBeFocused();
  expect(dispatches(flower)).toEqual([]);
  await remove.click();
  await question.getByRole("button", { name: "Remove it and start a build agent" }).click();
  await expect(page.getByRole("list", { name: "Dispatches" })).toContainText("play-1");
});

test("Enter in the form of a dispatch leads to the button that names the agent", async ({ page, flower }) => {
  const number = flower.brief("Shelves", SPEC);
  flower.run("brief", "accept", String(number));
  await flower.open(page, `/briefs/${number}`);
  const writes = writesOf(page);
  const start = page.getByRole("button", { name: /^Dispatch build to/ });
  await expect(start).toHaveText("Dispatch build to the default agent");
  await page.keyboard.press("d");
  await expect(page.getByRole("radio", { name: "build" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(start).toBeFocused();
  await page.getByRole("combobox", { name: "agent", exact: true }).selectOption("play");
  await page.getByRole("textbox", { name: "worktree" }).press("Enter");
  await expect(start).toBeFocused();
  await expect(start).toHaveText("Dispatch build to play");
  expect(writes).toEqual([]);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Dispatches" })).toContainText("play-1");
});

test("a brief that would start a design at once is created only when that is confirmed", async ({ page, flower }) => {
  await flower.open(page, "/briefs");
  await page.keyboard.press("c");
  const form = page.getByRole("dialog", { name: "New brief" });
  await expect(form.getByLabel("Title")).toBeFocused();
  await form.getByLabel("Title").fill("Shelves");
  await form.getByRole("checkbox", { name: /Auto-dispatch/ }).check();
  await form.getByRole("checkbox", { name: /Design-loop/ }).check();
  const writes = writesOf(page);
  await form.getByLabel("Title").press("Enter");
  const question = page.getByRole("dialog", { name: "Create the brief and start a design agent?" });
  await expect(question).toContainText("“Shelves”");
  await look(page, "starts-new-brief");
  await page.keyboard.press("Escape");
  await expect(question).toBeHidden();
  await expect(form.getByLabel("Title")).toBeFocused();
  expect(writes).toEqual([]);
  await page.keyboard.press("Enter");
  await question.getByRole("button", { name: "Create and start a design agent" }).click();
  await expect.poll(() => dispatches(flower).map((one) => one.kind)).toEqual(["design"]);
});

test("a thaw that starts agents names them first, from every place", async ({ page, flower }) => {
  flower.run("freeze", "holidays");
  flower.dispatched("Shelves", "hang");
  await flower.open(page, "/landing");
  const question = page.getByRole("dialog", { name: "Thaw MAIN of shop and start 1 agent?" });
  const writes = writesOf(page);
  await expect(page.getByRole("button", { name: "Thaw" }).first()).toBeVisible();
  await page.keyboard.press("f");
  await expect(question).toContainText("#1 Shelves: build by play");
  await look(page, "starts-thaw");
  await page.keyboard.press("Escape");
  await expect(question).toBeHidden();
  await page.goto(flower.url);
  await page.getByRole("button", { name: "Thaw" }).click();
  await expect(question).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search and commands" }).fill("thaw");
  await page.keyboard.press("Enter");
  await expect(question).toBeVisible();
  expect(writes).toEqual([]);
  await question.getByRole("button", { name: "Thaw and start 1 agent" }).click();
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  await expect.poll(() => flower.json<unknown[]>("agent"), { timeout: 20_000 }).toHaveLength(1);
});
