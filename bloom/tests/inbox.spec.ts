import type { BrowserContext, Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { expect, look, test } from "./flower";

test("nothing waits: the page is calm and says what would come", async ({ page, flower }) => {
  await flower.open(page, "/inbox");
  await expect(page.getByRole("heading", { name: "Nothing waits for you" })).toBeVisible();
  await expect(page).toHaveTitle("Inbox · flower");
  await look(page, "inbox-empty");
  await expectNoSeriousFindings(page);
});

test("what waits is grouped, settled in place in every window, and counted in the title", async ({ page, flower }) => {
  flower.brief("Paint the door");
  flower.brief("Mend the till");
  flower.run("brief", "ask", "1", "Which green?");
  flower.run("brief", "ask", "2", "Before or after Easter?");
  flower.dispatched("Greet", "permission fetch Look at the manual\nsleep 60");
  await flower.open(page, "/inbox");
  await expect(page).toHaveTitle("(3) Inbox · flower", { timeout: 30_000 });
  await expect(page.getByRole("heading", { level: 2 })).toHaveText(["Permissions", "Questions"]);
  const other = await page.context().newPage();
  await other.goto(`${flower.url}/inbox`);
  await expect(other.getByText("Which green?")).toBeVisible();
  await expect(page.getByRole("article", { name: /^permission/ })).toContainText(/denied in \d+/);
  await look(page, "inbox");
  await expectNoSeriousFindings(page);

  const question = page.getByRole("article", { name: /Paint the door/ });
  await question.getByRole("textbox", { name: "Your answer" }).fill("Moss");
  await question.getByRole("button", { name: "Answer" }).click();
  for (const window of [page, other]) {
    await expect(window.getByText("Which green?")).toBeHidden();
    await expect(window).toHaveTitle("(2) Inbox · flower");
  }
  await page.getByRole("button", { name: "Deny" }).click();
  for (const window of [page, other]) await expect(window.getByRole("button", { name: "Deny" })).toBeHidden();
  await other.close();
});

test("by keyboard alone: to the second question, answered, and on to the next", async ({ page, flower }) => {
  for (const title of ["One", "Two", "Three"]) {
    const number = flower.brief(title);
    flower.run("brief", "ask", String(number), `What of ${title}?`);
  }
  await flower.open(page, "/inbox");
  await expect(page.getByText("What of Two?")).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.getByRole("listitem").filter({ hasText: "What of Three?" })).toBeFocused();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("article", { name: /Two/ }).getByRole("textbox")).toBeFocused();
  await page.keyboard.type("Yes");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByText("What of Two?")).toBeHidden();
  await expect(page.getByRole("listitem").filter({ hasText: "What of One?" })).toBeFocused();
});

test("a commit made by hand raises an alarm, which is settled where it stands", async ({ page, flower }) => {
  await flower.open(page, "/inbox");
  await expect(page.getByRole("heading", { name: "Nothing waits for you" })).toBeVisible();
  const before = flower.git("rev-parse", "main").trim();
  flower.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "--message", "By hand");
  const alarm = page.getByRole("article", { name: /^alarm: MAIN of shop/ });
  await expect(alarm).toBeVisible({ timeout: 30_000 });
  for (const way of ["Take it in", "Make it a worktree", "Put MAIN back"])
    await expect(alarm.getByRole("button", { name: way })).toBeVisible();
  await look(page, "inbox-alarm");
  await expectNoSeriousFindings(page);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(alarm.getByRole("button", { name: "Take it in" })).toBeFocused();
  await alarm.getByRole("button", { name: "Put MAIN back" }).click();
  await expect(page.getByRole("heading", { name: "Nothing waits for you" })).toBeVisible();
  expect(flower.git("rev-parse", "main").trim()).toBe(before);
});

interface Told {
  title: string;
  body: string;
}

/** Notifications are written down instead of shown, and the test says whether a window is in sight. */
async function watchNotifications(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const told: Told[] = [];
    class Fake {
      static permission = localStorage.getItem("test.permission") ?? "default";
      static requestPermission(): Promise<string> {
        Fake.permission = "granted";
        localStorage.setItem("test.permission", "granted");
        localStorage.setItem("test.asked", "yes");
        return Promise.resolve("granted");
      }
      constructor(title: string, options: { body: string }) {
        told.push({ title, body: options.body });
      }
    }
    let state = "visible";
    Object.defineProperty(document, "visibilityState", { get: () => state });
    Object.assign(window, {
      Notification: Fake,
      told,
      see: (visible: boolean) => {
        state = visible ? "visible" : "hidden";
        document.dispatchEvent(new Event("visibilitychange"));
      },
    });
  });
}
const see = (page: Page, visible: boolean) =>
  page.evaluate((now) => (window as unknown as { see: (now: boolean) => void }).see(now), visible);
const told = (page: Page) => page.evaluate(() => (window as unknown as { told: Told[] }).told);

test("notifications come only when asked for, only out of sight, and from one window only", async ({
  page,
  flower,
}) => {
  flower.brief("Paint the door");
  await watchNotifications(page.context());
  await flower.open(page, "/inbox");
  const other = await page.context().newPage();
  await other.goto(`${flower.url}/inbox`);
  await expect(other.getByRole("button", { name: "Notify me" })).toBeVisible();
  expect(await page.evaluate(() => localStorage.getItem("test.asked"))).toBeNull();
  await page.getByRole("button", { name: "Notify me" }).click();
  await expect(page.getByRole("button", { name: "Notifications are on" })).toBeVisible();
  await other.reload();
  await expect(other.getByRole("button", { name: "Notifications are on" })).toBeVisible();

  flower.run("brief", "ask", "1", "In sight?");
  for (const window of [page, other]) await expect(window.getByText("In sight?")).toBeVisible();
  expect([...(await told(page)), ...(await told(other))]).toEqual([]);

  await see(page, false);
  flower.run("brief", "ask", "1", "One of two in sight?");
  for (const window of [page, other]) await expect(window.getByText("One of two in sight?")).toBeVisible();
  expect([...(await told(page)), ...(await told(other))]).toEqual([]);

  await see(other, false);
  flower.run("brief", "ask", "1", "Nobody looks?");
  for (const window of [page, other]) await expect(window.getByText("Nobody looks?")).toBeVisible();
  await expect.poll(async () => [...(await told(page)), ...(await told(other))].length).toBe(1);
  const [only] = [...(await told(page)), ...(await told(other))];
  expect(only?.title).toContain("asks");
  expect(only?.body).toContain("Nobody looks?");
  await other.close();
});
