import type { Page } from "@playwright/test";
import { expect, look, test } from "./flower";

/** A red picture, and its width and height. */
async function drawn(page: Page, width: number, height: number): Promise<string> {
  return page.evaluate(
    ([width, height]) => {
      const canvas = document.createElement("canvas");
      canvas.width = width!;
      canvas.height = height!;
      const pen = canvas.getContext("2d")!;
      pen.fillStyle = "#b33";
      pen.fillRect(0, 0, width!, height!);
      return canvas.toDataURL("image/png").split(",")[1]!;
    },
    [width, height],
  );
}

async function paste(page: Page, name: string, type: string, base64: string): Promise<void> {
  const field = page.getByRole("textbox", { name: "Comment" });
  await field.evaluate(
    (node, { name, type, base64 }) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], name, { type }));
      node.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    },
    { name, type, base64 },
  );
}

const trace = (page: Page) => page.getByRole("list", { name: "Trace" });

test("a comment appears in the other window, and the filter shows only talk", async ({ page, context, flower }) => {
  const number = flower.brief("Talk", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const other = await context.newPage();
  await other.goto(`${flower.url}/briefs/${number}`);
  await expect(other.locator("[data-live=live]")).toBeVisible();
  await page.getByRole("textbox", { name: "Comment" }).fill("Looks **good** to me");
  await page.getByRole("button", { name: "Preview" }).click();
  await expect(page.getByRole("form", { name: "Write a comment or a note" }).locator("strong")).toHaveText("good");
  await page.getByRole("button", { name: "Write", exact: true }).click();
  await page.getByRole("textbox", { name: "Comment" }).press("ControlOrMeta+Enter");
  await expect(trace(page).getByText("Looks good to me")).toBeVisible();
  await expect(trace(other).getByText("Looks good to me")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Comment" })).toHaveValue("");
  await other.getByRole("combobox", { name: "What it is" }).selectOption("note");
  await other.getByRole("textbox", { name: "Note" }).fill("For later");
  await other.getByRole("button", { name: "Add note" }).click();
  await expect(trace(page).getByText("For later")).toBeVisible();
  await expect(trace(page).getByText("brief created")).toBeVisible();
  await page.getByRole("checkbox", { name: "comments only" }).check();
  await expect(trace(page).getByText("brief created")).toBeHidden();
  await expect(trace(page).getByRole("listitem").first()).toContainText("For later");
});

test("pictures are pasted, refused with a reason, taken out, sent and enlarged", async ({ page, flower }) => {
  const number = flower.brief("Pictures", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await paste(page, "shot.png", "image/png", await drawn(page, 640, 360));
  await paste(page, "not.png", "image/png", btoa("no picture at all"));
  await paste(page, "text.txt", "text/plain", btoa("text"));
  await paste(page, "huge.png", "image/png", btoa("x".repeat(11 * 1024 * 1024)));
  const pictures = page.getByRole("list", { name: "Pictures" });
  await expect(pictures.getByRole("listitem").filter({ hasText: "shot.png" })).toContainText("uploaded");
  await expect(pictures.getByRole("listitem").filter({ hasText: "not.png" })).toContainText("that is no picture");
  await expect(pictures.getByRole("listitem").filter({ hasText: "text.txt" })).toContainText("that is no picture");
  await expect(pictures.getByRole("listitem").filter({ hasText: "huge.png" })).toContainText("too large");
  await page.getByRole("form", { name: "Write a comment" }).scrollIntoViewIfNeeded();
  await look(page, "brief-pictures");
  for (const name of ["not.png", "text.txt", "huge.png"])
    await page.getByRole("button", { name: `Remove ${name}` }).click();
  await page.getByRole("textbox", { name: "Comment" }).fill("See this");
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(pictures).toBeHidden();
  await trace(page).getByRole("button", { name: "Enlarge the picture, 640 × 360" }).click();
  const large = page.getByRole("img", { name: "Screenshot, 640 × 360" });
  await expect(large).toBeVisible();
  expect(await large.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(640);
});

test("a picture on its way can be called off", async ({ page, flower }) => {
  const number = flower.brief("Slow", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.route("**/api/images", () => undefined);
  await paste(page, "slow.png", "image/png", await drawn(page, 8, 8));
  await expect(page.getByText("uploading…")).toBeVisible();
  await expect(page.getByRole("button", { name: "Comment", exact: true })).toBeDisabled();
  await page.getByRole("button", { name: "Cancel slow.png" }).click();
  await expect(page.getByRole("list", { name: "Pictures" })).toBeHidden();
});

test("a question of an agent is answered where it stands, and what failed to be sent is kept", async ({
  page,
  flower,
}) => {
  const number = flower.dispatched("Asks", "question Which **colour**?\nwait\nhand-back Done as told.");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const question = page.getByRole("form", { name: "Question 1" });
  await expect(question).toContainText("Which colour?", { timeout: 20_000 });
  await question.getByRole("textbox", { name: "Your answer" }).fill("Green");
  await page.route("**/answer", (route) => route.abort());
  await question.getByRole("button", { name: "Answer" }).click();
  await expect(page.getByText("flower does not answer", { exact: true })).toBeVisible();
  await expect(question.getByRole("textbox", { name: "Your answer" })).toHaveValue("Green");
  await page.unroute("**/answer");
  await question.getByRole("button", { name: "Answer" }).click();
  await expect(question).toBeHidden();
  await expect(trace(page).getByRole("listitem").filter({ hasText: "decision" })).toContainText("Green");
  await expect(page.getByRole("list", { name: "Dispatches" })).toContainText("Done as told.", { timeout: 20_000 });
});

test("older parts of a long trace come when they are asked for", async ({ page, flower }) => {
  const number = flower.brief("Long trace", "# Plan");
  for (let at = 0; at < 60; at++) flower.run("brief", "note", String(number), `note ${at} of many`);
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(trace(page).getByText("note 59 of many")).toBeVisible();
  await expect(trace(page).getByText("note 0 of many")).toBeHidden();
  await page.getByRole("button", { name: "Show older" }).click();
  await expect(trace(page).getByText("note 0 of many")).toBeVisible();
  await expect(page.getByRole("button", { name: "Show older" })).toBeHidden();
});
