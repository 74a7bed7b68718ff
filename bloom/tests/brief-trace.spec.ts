import type { Locator, Page } from "@playwright/test";
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

/** Whether the browser goes on with it as it would by itself. */
async function paste(page: Page, name: string, type: string, base64: string, text = ""): Promise<boolean> {
  const field = page.getByRole("textbox", { name: "Comment" });
  return field.evaluate(
    (node, { name, type, base64, text }) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], name, { type }));
      if (text) clipboardData.setData("text/plain", text);
      return node.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    },
    { name, type, base64, text },
  );
}

/** Lets a picture fall; whether the browser would open it in place of the page. */
async function drop(on: Locator, name: string, base64: string): Promise<boolean> {
  return on.evaluate(
    (node, { name, base64 }) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], name, { type: "image/png" }));
      const fall = (type: string) =>
        node.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
      return fall("dragover") || fall("drop");
    },
    { name, base64 },
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
  await other.getByRole("combobox", { name: "Type" }).selectOption("note");
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
  await expect(pictures.getByRole("listitem").filter({ hasText: "not.png" })).toContainText("no picture");
  await expect(pictures.getByRole("listitem").filter({ hasText: "text.txt" })).toContainText("not a picture");
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

test("the same picture twice is sent once, and twice in one comment breaks nothing", async ({ page, flower }) => {
  const number = flower.brief("Twice", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const shot = await drawn(page, 64, 36);
  await paste(page, "one.png", "image/png", shot);
  const pictures = page.getByRole("list", { name: "Pictures" });
  await expect(pictures).toContainText("uploaded");
  await paste(page, "two.png", "image/png", shot);
  await expect(page.getByText("This picture is already attached")).toBeVisible();
  await expect(pictures.getByRole("listitem")).toHaveCount(1);
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(trace(page).getByRole("button", { name: /Enlarge/ })).toHaveCount(1);
  // Other clients can attach the same picture twice.
  await page.route(`**/api/briefs/${number}/trace*`, async (route) => {
    const answer = await route.fetch();
    const events = (await answer.json()) as { kind: string; body: { images?: object[] } }[];
    for (const { body } of events) if (body.images) body.images = [...body.images, ...body.images];
    await route.fulfill({ response: answer, json: events });
  });
  await page.reload();
  await expect(trace(page).getByRole("button", { name: /Enlarge/ })).toHaveCount(2);
  await page.getByRole("textbox", { name: "Comment" }).fill("Still here");
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(trace(page).getByText("Still here")).toBeVisible();
});

test("what is typed and pasted while a comment is sent is kept for the next one", async ({ page, flower }) => {
  const number = flower.brief("Fast", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  const field = page.getByRole("textbox", { name: "Comment" });
  await field.fill("First");
  let go = () => undefined as void;
  const held = new Promise<void>((done) => (go = done));
  await page.route("**/api/briefs/*/notes", async (route) => {
    await held;
    await route.continue();
  });
  await field.press("ControlOrMeta+Enter");
  await field.press("End");
  await page.keyboard.type("\nSecond");
  await paste(page, "late.png", "image/png", await drawn(page, 20, 20));
  const pictures = page.getByRole("list", { name: "Pictures" });
  await expect(pictures).toContainText("uploaded");
  go();
  await expect(trace(page).getByText("First")).toBeVisible();
  await expect(field).toHaveValue("Second");
  await expect(pictures).toContainText("late.png");
  await expect(trace(page).getByRole("button", { name: /Enlarge/ })).toHaveCount(0);
  await page.reload();
  await expect(field).toHaveValue("Second");
});

test("pictures are dropped, fail and are tried again, go and come back", async ({ page, flower }) => {
  const number = flower.brief("Dropped", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  const form = page.getByRole("form", { name: "Write a comment or a note" });
  await expect(form).toBeVisible();
  const shot = await drawn(page, 30, 20);
  expect(await drop(page.getByRole("heading", { level: 1 }), "beside.png", shot), "left the page").toBe(false);
  const pictures = page.getByRole("list", { name: "Pictures" });
  await expect(pictures).toBeHidden();
  await page.route("**/api/images", (route) => route.abort());
  expect(await drop(form, "inside.png", shot)).toBe(false);
  await expect(pictures).toContainText("flower does not answer");
  await look(page, "brief-picture-failed");
  await page.unroute("**/api/images");
  await pictures.getByRole("button", { name: "Try again" }).click();
  await expect(pictures).toContainText("uploaded");
  await pictures.getByRole("button", { name: "Remove inside.png" }).click();
  await expect(pictures).toBeHidden();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(pictures).toContainText("uploaded");
  // Words that come with a picture are not kept from the field.
  expect(await paste(page, "both.png", "image/png", await drawn(page, 9, 9), "and words")).toBe(true);
  expect(await paste(page, "alone.png", "image/png", await drawn(page, 8, 8))).toBe(false);
  await expect(pictures.getByRole("listitem")).toHaveCount(3);
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("m");
  await expect(page.getByRole("textbox", { name: "Comment" })).toBeFocused();
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
  const question = page.getByRole("group", { name: "Question 1" });
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
