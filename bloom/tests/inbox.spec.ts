import type { BrowserContext, Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { expect, look, test } from "./flower";
import { made } from "./lane";

test("an empty inbox says what would appear in it", async ({ page, flower }) => {
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
  await expect(page.getByRole("listitem").filter({ hasText: "What of One?" })).toBeFocused();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("article", { name: /Two/ }).getByRole("textbox")).toBeFocused();
  await page.keyboard.type("Yes");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByText("What of Two?")).toBeHidden();
  await expect(page.getByRole("listitem").filter({ hasText: "What of Three?" })).toBeFocused();
});

test("by keyboard alone: a permission denied, a question answered, messages seen", async ({ page, flower }) => {
  flower.brief("Paint the door");
  flower.run("brief", "ask", "1", "Which green?");
  flower.dispatched("Greet", "tell operator Hello.\npermission fetch Look at the manual\nsleep 60");
  await flower.open(page, "/inbox");
  await expect(page).toHaveTitle("(3) Inbox · flower", { timeout: 30_000 });
  // Nothing is chosen yet, so that a key decides nothing.
  await page.keyboard.press("d");
  const item = (text: string) => page.getByRole("listitem").filter({ hasText: text });
  await expect(item("Look at the manual")).toBeFocused();
  await page.waitForTimeout(500);
  await page.keyboard.press("d");
  await expect(item("Look at the manual")).toBeHidden();
  await expect(item("Which green?")).toBeFocused();
  await page.keyboard.press("r");
  await page.keyboard.type("Moss");
  await page.keyboard.press("Control+Enter");
  await expect(item("Which green?")).toBeHidden();
  await expect(item("Hello.")).toBeFocused();
  await page.waitForTimeout(500);
  await page.keyboard.press("s");
  await expect(page.getByRole("heading", { name: "Nothing waits for you" })).toBeVisible();
  expect(flower.run("trace")).toContain("Moss");
});

test("new items come last, and an item that has just moved ignores clicks", async ({ page, flower }) => {
  const reviewed = (title: string) => {
    const number = String(flower.brief(title, "# Plan"));
    flower.run("brief", "accept", number);
    for (const status of ["in_progress", "in_review"]) flower.run("brief", "status", number, status);
  };
  for (const title of ["One", "Two", "Three"]) reviewed(title);
  await flower.open(page, "/inbox");
  const titles = page.getByRole("article").getByRole("heading");
  await expect(titles).toHaveText(["One", "Two", "Three"]);
  reviewed("Four");
  await expect(titles).toHaveText(["One", "Two", "Three", "Four"]);
  // The first one is settled elsewhere, and the second comes to where the pointer is.
  const place = (await page.getByRole("button", { name: "Accept" }).first().boundingBox())!;
  await page.evaluate(
    ({ x, y }) => {
      const watch = new MutationObserver(() => {
        if (document.querySelector("article h3")?.textContent?.trim() !== "Two") return;
        watch.disconnect();
        const under = document.elementFromPoint(x, y) as HTMLElement;
        (window as { hit?: string }).hit = `${under.textContent} of ${under.closest("article")?.ariaLabel}`;
        under.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
      });
      watch.observe(document.body, { childList: true, subtree: true });
    },
    { x: place.x + 5, y: place.y + 5 },
  );
  flower.run("brief", "accept", "1");
  await expect(titles).toHaveText(["Two", "Three", "Four"]);
  expect(await page.evaluate(() => (window as { hit?: string }).hit)).toContain("Accept of to accept: Two");
  await page.waitForTimeout(700);
  expect(flower.json<{ status: string }>("brief", "show", "2").status).toBe("in_review");
  await page.getByRole("button", { name: "Accept" }).first().click();
  await expect(titles).toHaveText(["Three", "Four"]);
  expect(flower.json<{ status: string }>("brief", "show", "2").status).toBe("done");
});

test("a permission is allowed and a landing let in with one click each", async ({ page, flower }) => {
  flower.dispatched("Look it up", "permission fetch Look at the manual\nnote It was allowed\nsleep 60");
  made(flower, "mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml");
  flower.run("land", "lane");
  await flower.open(page, "/inbox");
  const asked = page.getByRole("article", { name: /^permission/ });
  await expect(asked).toBeVisible({ timeout: 30_000 });
  await asked.getByRole("button", { name: "Allow" }).click();
  await expect(asked).toBeHidden();
  await expect.poll(() => flower.run("brief", "trace", "1"), { timeout: 30_000 }).toContain("It was allowed");
  const held = page.getByRole("article", { name: /^landing held/ });
  await held.getByRole("button", { name: "Approve" }).click();
  await expect(held).toBeHidden();
  await expect.poll(() => flower.git("log", "--name-only", "main"), { timeout: 30_000 }).toContain("ci.yml");
});

test("a message is replied to, and seen as far as it is shown", async ({ page, flower }) => {
  flower.dispatched("Greet", "tell operator The paint is dry.\ntell operator The lid is on.\nwait\ninbox\nsleep 60");
  let hidden = "The lid is on.";
  await page.route("**/api/inbox", async (route) => {
    const items = (await (await route.fetch()).json()) as { text: string }[];
    await route.fulfill({ json: items.filter((item) => item.text !== hidden) });
  });
  await flower.open(page, "/inbox");
  const dry = page.getByRole("article", { name: /^message/ }).filter({ hasText: "The paint is dry." });
  const lid = page.getByRole("article", { name: /^message/ }).filter({ hasText: "The lid is on." });
  await expect(dry).toBeVisible({ timeout: 30_000 });
  await expect.poll(() => flower.run("inbox"), { timeout: 30_000 }).toContain("The lid is on.");
  await dry.getByRole("textbox", { name: "Reply to play-1" }).fill("Then paint the rest");
  await dry.getByRole("button", { name: "Reply" }).click();
  await expect(page.getByText("Told play-1")).toBeVisible();
  await expect(dry.getByRole("textbox")).toHaveValue("");
  expect(flower.run("trace")).toContain("Then paint the rest");
  await dry.getByRole("button", { name: "Seen" }).click();
  await expect(dry).toBeHidden();
  // What this window did not show is not seen.
  hidden = "";
  await page.reload();
  await expect(lid).toBeVisible();
  await expect(dry).toBeHidden();
  await lid.getByRole("button", { name: "Seen" }).click();
  await expect(page.getByRole("heading", { name: "Nothing waits for you" })).toBeVisible();
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("a commit made by hand raises an alarm, which is settled where it stands", async ({ page, flower }) => {
  await flower.open(page, "/inbox");
  await expect(page.getByRole("heading", { name: "Nothing waits for you" })).toBeVisible();
  const before = flower.git("rev-parse", "main").trim();
  flower.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "--message", "By hand");
  const alarm = page.getByRole("article", { name: /^alarm: MAIN of shop/ });
  await expect(alarm).toBeVisible({ timeout: 30_000 });
  for (const way of ["Adopt it", "Move it to a worktree", "Restore MAIN"])
    await expect(alarm.getByRole("button", { name: way })).toBeVisible();
  await look(page, "inbox-alarm");
  await expectNoSeriousFindings(page);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(alarm.getByRole("button", { name: "Adopt it" })).toBeFocused();
  await alarm.getByRole("button", { name: "Restore MAIN" }).click();
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
  flower.run("brief", "ask", "1", "No window in sight?");
  for (const window of [page, other]) await expect(window.getByText("No window in sight?")).toBeVisible();
  await expect.poll(async () => [...(await told(page)), ...(await told(other))].length).toBe(1);
  const [only] = [...(await told(page)), ...(await told(other))];
  expect(only?.title).toContain("asks");
  expect(only?.body).toContain("No window in sight?");
  await other.close();
});
