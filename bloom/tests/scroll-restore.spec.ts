import type { Page } from "@playwright/test";
import { chord, expect, test } from "./flower";

const top = (page: Page) => page.locator("main").evaluate((main) => main.scrollTop);
const within = (page: Page, name: string) =>
  page
    .getByRole("list", { name })
    .first()
    .evaluate((list) => list.scrollTop);

test("a new page starts at its top, and going back restores the scroll position", async ({ page, flower }) => {
  const long = Array.from({ length: 120 }, (_, at) => `Paragraph ${at} of a long plan.`).join("\n\n");
  flower.brief("Long", `# Plan\n\n${long}`);
  await flower.open(page, "/briefs/1");
  await expect(page.getByText("Paragraph 119 of a long plan.", { exact: true })).toBeVisible();
  await page.locator("main").evaluate((main) => main.scrollTo(0, 1_500));
  await chord(page, "g", "h");
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  expect(await top(page)).toBe(0);
  await page.goBack();
  await expect(page.getByText("Paragraph 119 of a long plan.", { exact: true })).toBeVisible();
  await expect.poll(() => top(page)).toBe(1_500);
  await page.goForward();
  await expect(page.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  await expect.poll(() => top(page)).toBe(0);
});

test("lists keep their scroll position and their selected line", async ({ page, flower }) => {
  const brief = (number: number) => ({
    number,
    title: `Brief ${number}`,
    kind: "feature",
    status: "draft",
    epic: null,
    projects: ["shop"],
    open_questions: 0,
    ready: false,
    updated_at: new Date().toISOString(),
  });
  const all = Array.from({ length: 600 }, (_, at) => brief(at + 1));
  const events = Array.from({ length: 60 }, (_, at) => ({
    seq: at + 1,
    at: new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString(),
    kind: "note_added",
    actor: { type: "operator", name: "mike" },
    door: "cli",
    brief: 1,
    body: {},
    hash: "a",
    prev: "b",
    stream: "brief/1",
    version: at,
    schema: 1,
    said: `note ${at}`,
  }));
  await page.route("**/api/brief-rows?*", (route) =>
    route.fulfill({ json: route.request().url().includes("after=0") ? all : [] }),
  );
  await page.route("**/api/trace?*", (route) =>
    route.fulfill({ json: route.request().url().includes("limit=200") ? events : [] }),
  );
  await flower.open(page, "/briefs");
  const list = page.getByRole("list", { name: "Briefs" });
  await expect(page.getByRole("link", { name: "Brief 600" })).toBeVisible();
  await list.evaluate((box) => box.scrollTo(0, 9_000));
  const row = page.getByRole("link", { name: "Brief 340", exact: false });
  await expect(row).toBeInViewport();
  await row.focus();
  const place = await within(page, "Briefs");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/briefs\/340$/);
  await page.goBack();
  await expect(row).toBeFocused();
  await expect.poll(() => within(page, "Briefs")).toBe(place);
  // A page that is opened by a shortcut starts at its top.
  await chord(page, "g", "t");
  await expect(page.getByText("note 59")).toBeVisible();
  await page.getByRole("list", { name: "Events" }).evaluate((box) => box.scrollTo(0, 700));
  const event = page.getByRole("button", { name: /note 30$/ });
  await event.focus();
  const far = await within(page, "Events");
  expect(far).toBeGreaterThan(600);
  await chord(page, "g", "b");
  await expect(page.getByRole("link", { name: "Brief 600" })).toBeVisible();
  expect(await within(page, "Briefs")).toBe(0);
  await page.goBack();
  await expect(event).toBeFocused();
  await expect.poll(() => within(page, "Events")).toBe(far);
});
