import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { expect, look, test, type Flower } from "./flower";

const editor = (page: Page, number: number) => page.getByRole("textbox", { name: `Spec of #${number}` });
const spec = (page: Page) => page.getByRole("region", { name: "Spec" });

async function rewrite(page: Page, number: number, text: string): Promise<void> {
  await editor(page, number).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

function refine(flower: Flower, number: number, text: string): void {
  const file = join(flower.root, "refined.md");
  writeFileSync(file, text);
  flower.run("brief", "refine", String(number), "--spec", file);
}

/** Lines that stay the same in every version. */
const BETWEEN = "one\n\ntwo\n\nthree\n\nfour\n\n";

test("a plan is written, proposed, accepted, refined and compared", async ({ page, flower }) => {
  const number = flower.brief("Empty as yet");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.getByRole("button", { name: "Write the plan" }).click();
  await rewrite(page, number, "# First plan\n\nDo **this**.");
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(spec(page).getByRole("heading", { name: "First plan" })).toBeVisible();
  await spec(page).getByRole("button", { name: "Accept", exact: true }).click();
  await expect(page.getByRole("button", { name: /Status: planned/ })).toBeVisible();
  await page.getByRole("button", { name: "Edit" }).click();
  await rewrite(page, number, "# First plan\n\nDo **that**.");
  await page.getByRole("textbox", { name: "Reason for the change" }).fill("that is better");
  await page.getByRole("button", { name: "Save version 2" }).click();
  await expect(spec(page).getByText("Version 2 waits for you")).toBeVisible();
  await spec(page).getByRole("button", { name: "See what changed" }).click();
  const dialog = page.getByRole("dialog", { name: "Versions of the spec" });
  await expect(dialog.getByText("that is better")).toBeVisible();
  await expect(dialog.getByRole("region", { name: "Changes" })).toContainText("Do **this**.");
  await expect(dialog.getByRole("region", { name: "Changes" })).toContainText("Do **that**.");
  await look(page, "brief-versions");
  await dialog.getByRole("radio", { name: "To version 1" }).check();
  await dialog.getByRole("button", { name: "Text of 1" }).click();
  await expect(dialog.getByText("Do this.")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Accept changes" }).click();
  await expect(spec(page).getByText("waits for you")).toBeHidden();
  await expect(spec(page).getByRole("button", { name: "version 2, accepted" })).toBeVisible();
});

test("what changed meanwhile is told, and merged by hand on the new base", async ({ page, flower }) => {
  const number = flower.brief("Two at once", `# Plan\n\nfirst\n\n${BETWEEN}last\n`);
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.getByRole("button", { name: "Edit" }).click();
  await rewrite(page, number, `# Plan\n\nmine\n\n${BETWEEN}last\n`);
  refine(flower, number, `# Plan\n\nfirst\n\n${BETWEEN}theirs\n`);
  await expect(page.getByText("Version 2 was saved while you were editing.")).toBeVisible();
  await page.getByRole("button", { name: "Save version 2" }).click();
  await expect(page.getByText("is at version 2, not 1")).toBeVisible();
  await expect(page.getByText("Left: version 2. Right: your text, based on version 1.")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Theirs" })).toContainText("theirs");
  await expect(editor(page, number)).toContainText("mine");
  await page.getByRole("button", { name: "Dismiss" }).click();
  await look(page, "brief-merge");
  await page.getByRole("button", { name: "Take theirs here" }).last().click();
  await expect(editor(page, number)).toContainText("theirs");
  await page.getByRole("button", { name: "Save version 3" }).click();
  await expect(spec(page).getByText("mine", { exact: true })).toBeVisible();
  await expect(spec(page).getByText("theirs", { exact: true }).first()).toBeVisible();
  const version = () => flower.json<{ spec: { version: number } }>("brief", "show", String(number)).spec.version;
  await expect.poll(version).toBe(3);
});

test("what is typed survives leaving and reloading, and can be discarded and brought back", async ({
  page,
  flower,
}) => {
  const number = flower.brief("Kept", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.getByRole("button", { name: "Edit" }).click();
  await rewrite(page, number, "# Not saved yet");
  await page.reload();
  await expect(page.getByText("You have unsaved changes, based on version 1.")).toBeVisible();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(editor(page, number)).toContainText("# Not saved yet");
  await editor(page, number).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Continue editing" }).click();
  await expect(editor(page, number)).toContainText("# Not saved yet");
});

test("a daemon that is killed loses nothing that was typed", async ({ page, flower }) => {
  const number = flower.brief("Outlives it", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.getByRole("button", { name: "Edit" }).click();
  await rewrite(page, number, "# Written before");
  await flower.kill();
  await expect(page.getByText("Not live: flower does not answer")).toBeVisible();
  await page.getByRole("button", { name: "Save version 2" }).click();
  await expect(page.getByText("flower does not answer", { exact: true })).toBeVisible();
  await expect(editor(page, number)).toContainText("# Written before");
  await flower.up();
  await expect(page.locator("[data-live=live]")).toBeVisible();
  await page.getByRole("button", { name: "Save version 2" }).click();
  await expect(spec(page).getByRole("heading", { name: "Written before" })).toBeVisible();
});

test("a spec of 5 MB neither freezes the page nor is lost, and one of 1 MB is shown", async ({ page, flower }) => {
  const line = "A line of a spec that goes on and on, with **bold** and `code` in it.\n\n";
  const number = flower.brief("Long", line.repeat(14_000));
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(spec(page).getByRole("button", { name: /^Show all \d+ KB$/ })).toBeVisible();
  await page.getByRole("button", { name: "Edit" }).click();
  await expect(editor(page, number)).toBeVisible();
  const began = Date.now();
  await editor(page, number).click();
  await page.keyboard.press("ControlOrMeta+a");
  await editor(page, number).evaluate((node, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    node.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, line.repeat(70_000));
  await expect(page.getByText("flower takes specs of up to 1 MB")).toBeVisible();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("the very end");
  await expect(editor(page, number)).toContainText("the very end");
  expect(Date.now() - began).toBeLessThan(15_000);
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(
    page
      .getByRole("list")
      .getByText(/are allowed|too large/)
      .first(),
  ).toBeVisible();
  await expect(editor(page, number)).toContainText("the very end");
});

test("what is typed while a version is saved goes into the next one", async ({ page, flower }) => {
  const number = flower.brief("Fast fingers", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await page.getByRole("button", { name: "Edit" }).click();
  await rewrite(page, number, "# Plan\n\nfirst");
  let go = () => undefined as void;
  const held = new Promise<void>((done) => (go = done));
  await page.route("**/refine", async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.keyboard.insertText(" and second");
  go();
  await expect(page.getByText("Saved", { exact: true })).toBeVisible();
  await expect(editor(page, number)).toContainText("first and second");
  await page.getByRole("button", { name: "Save version 3" }).click();
  await expect(spec(page).getByText("first and second")).toBeVisible();
  expect(flower.json<{ spec: { markdown: string } }>("brief", "show", String(number)).spec.markdown).toContain(
    "second",
  );
});

test("the length of a spec is counted as flower counts it", async ({ page, flower }) => {
  const number = flower.brief("Umlauts", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await page.getByRole("button", { name: "Edit" }).click();
  await rewrite(page, number, "ü".repeat(600 * 1024));
  await expect(page.getByText("1.2M bytes: flower takes specs of up to 1 MB")).toBeVisible();
});
