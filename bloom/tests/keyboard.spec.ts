import type { Page } from "@playwright/test";
import { chord, expect, test } from "./flower";

/** No mouse, and nothing is focused by the test: only keys are pressed, and what they do is looked at. */
async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** The name or the text of what has the focus. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return "";
    const label = element.getAttribute("aria-label") ?? (element as HTMLInputElement).labels?.[0]?.innerText;
    return (label ?? element.textContent).trim().split("\n")[0] ?? "";
  });
}

/** Tab, until what is looked for has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let tries = 0; tries < 60; tries++) {
    if (name.test(await focused(page))) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${name}; it ended at “${await focused(page)}”`);
}

const SPEC = `Agents should be polite.

\`\`\`play
write CLAUDE.md Be kind.
commit Kindness
hand-back Kind.
\`\`\`
`;

test("from an idea to MAIN by keyboard alone: written, accepted, dispatched, read, commented on, let in", async ({
  page,
  flower,
}) => {
  test.slow();
  await flower.open(page);
  await press(page, "c");
  await expect(page.getByRole("dialog", { name: "New brief" })).toBeVisible();
  await page.keyboard.type("Be kind");
  await tabTo(page, /^Spec/);
  await page.keyboard.insertText(SPEC);
  await press(page, "Control+Enter");
  await expect(page.getByRole("dialog", { name: "New brief" })).toBeHidden();

  await chord(page, "g", "b");
  await expect(page.getByRole("heading", { name: "Briefs", level: 1 })).toBeVisible();
  await expect(page.getByText("Be kind").first()).toBeVisible();
  await press(page, "j", "Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Be kind");
  await press(page, "a");
  await expect(page.getByRole("dialog")).toBeVisible();
  await tabTo(page, /^Accept/);
  await press(page, "Enter");
  await expect(page.getByText("planned", { exact: true }).first()).toBeVisible();

  await press(page, "d");
  await tabTo(page, /^agent$/i);
  await page.keyboard.type("play");
  await tabTo(page, /^Dispatch build/);
  await press(page, "Enter");
  await expect(page.getByRole("region", { name: "Dispatch" })).toContainText(/handed back|landed|executing|claimed/);

  // It changes instructions for agents, so that it waits.
  await chord(page, "g", "l");
  await expect(page.getByRole("article", { name: /Landing 1/ })).toContainText("approval");
  await chord(page, "g", "w");
  await expect(page.getByRole("heading", { name: "Worktrees" })).toBeVisible();
  await expect(page.getByText("b1-be-kind").first()).toBeVisible();
  await press(page, "j", "Enter");
  await expect(page.getByRole("region", { name: "CLAUDE.md" })).toBeVisible();
  await press(page, "n", "j", "c");
  await page.keyboard.type("To whom?");
  await press(page, "Control+Enter");
  await expect(page.getByRole("article", { name: /^Comment by/ })).toContainText("To whom?");

  await chord(page, "g", "l");
  await expect(page.getByRole("article", { name: /Landing 1/ })).toBeVisible();
  await press(page, "j", "Enter");
  await expect(page).toHaveURL(/\/landing\/1$/);
  await expect(page.getByRole("region", { name: "CLAUDE.md" })).toContainText("Be kind.");
  await press(page, "a");
  await tabTo(page, /^Approve landing 1/);
  await press(page, "Enter");
  await expect(page.getByText("landed", { exact: true }).first()).toBeVisible();
  expect(flower.git("show", "main:CLAUDE.md")).toBe("Be kind.\n");

  await press(page, "Control+k");
  await page.keyboard.type("be kind");
  await expect(page.getByRole("option", { selected: true })).toContainText("Be kind");
  await press(page, "Enter");
  await expect(page).toHaveURL(/\/briefs\/1$/);
  await expect(page.getByText("landed", { exact: true }).first()).toBeVisible();
  await press(page, "m");
  await page.keyboard.type("It is kind now.");
  await press(page, "Control+Enter");
  await expect(page.getByRole("list", { name: "Trace" })).toContainText("It is kind now.");
});
