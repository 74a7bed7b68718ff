import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expectNoSeriousFindings } from "./axe";
import { expect, look, test } from "./flower";
import { scrolled, words } from "./scroll";

// Recording each step costs more than the step, and what a step costs is measured here.
test.use({ trace: "off" });

const line = (page: Page, text: string | RegExp) => page.getByRole("listitem").filter({ hasText: text });

function event(seq: number) {
  const kinds = ["comment_added", "landed", "dispatch_claimed", "landing_rejected", "question_asked"];
  return {
    seq,
    at: new Date(Date.UTC(2026, 0, 1) + seq * 60_000).toISOString(),
    kind: kinds[seq % kinds.length],
    actor: { type: seq % 3 ? "agent" : "operator", name: seq % 3 ? `play-${seq % 5}` : "mike" },
    door: "mcp",
    brief: (seq % 40) + 1,
    body: { number: seq, text: `words of event ${seq}`, holder: "play-1", why: "red" },
    hash: seq.toString(16).padStart(64, "0"),
    prev: (seq - 1).toString(16).padStart(64, "0"),
    stream: "brief/1",
    version: seq,
    schema: 1,
    said: `words of event ${seq}`,
  };
}

test("what happens appears at the top, in two windows, and opens to all that is recorded", async ({ page, flower }) => {
  flower.brief("Paint the door");
  await flower.open(page, "/trace");
  await expect(line(page, "brief created")).toBeVisible();
  const other = await page.context().newPage();
  await other.goto(`${flower.url}/trace`);
  flower.run("brief", "note", "1", "The hinges squeak");
  for (const window of [page, other]) await expect(line(window, "The hinges squeak")).toBeVisible();
  await line(page, "The hinges squeak").getByRole("button").first().click();
  await expect(page.getByRole("group", { name: "Body" })).toContainText('"text": "The hinges squeak"');
  await expect(page.getByText("Previous hash", { exact: true })).toBeVisible();
  await look(page, "trace");
  await expectNoSeriousFindings(page);

  // What is being read is not moved by what is new.
  flower.run("brief", "note", "1", "And the lock");
  await expect(line(other, "And the lock")).toBeVisible();
  await expect(page.getByRole("button", { name: "1 new" })).toBeVisible();
  await expect(line(page, "And the lock")).toBeHidden();
  await page.getByRole("button", { name: "1 new" }).click();
  await expect(line(page, "And the lock")).toBeVisible();
  await other.close();
});

test("filters sift what is loaded and say so; a brief's own trace is asked for", async ({ page, flower }) => {
  flower.brief("Paint the door");
  flower.brief("Mend the till");
  flower.run("brief", "note", "1", "The hinges squeak");
  await flower.open(page, "/trace");
  await expect(line(page, "Mend the till")).toBeVisible();
  await page.getByRole("combobox", { name: "Category" }).selectOption("talk");
  await expect(line(page, "Mend the till")).toBeHidden();
  await expect(page.getByText(/^1 of \d+ loaded events$/)).toBeVisible();
  await expect(page.getByText("No more matching events.")).toBeVisible();
  await expect(page).toHaveURL(/group=talk/);
  await page.getByRole("combobox", { name: "Category" }).selectOption("");
  await page.getByRole("textbox", { name: "Brief" }).fill("2");
  await page.getByRole("textbox", { name: "Brief" }).press("Enter");
  await expect(line(page, "Mend the till")).toBeVisible();
  await expect(line(page, "The hinges squeak")).toBeHidden();
  await page.getByRole("searchbox").fill("no such words");
  await expect(page.getByText("No matching events.")).toBeVisible();
});

/** A log of that many events, of which a trace asks for pages. */
async function serve(page: Page, length: number): Promise<void> {
  await page.route("**/api/trace?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    if (query.has("after")) return route.fulfill({ json: [] });
    const before = Number(query.get("before") ?? length + 1);
    const first = Math.max(1, before - Number(query.get("limit")));
    return route.fulfill({ json: Array.from({ length: before - first }, (_, at) => event(first + at)) });
  });
}

test("a filter looks back by itself, so far that it can be told, and goes on when asked", async ({ page, flower }) => {
  await serve(page, 18_000);
  await flower.open(page, "/trace?q=event+9000");
  await expect(page.getByText(/^Searched back to 9 January 2026 at .*: no matching events\.$/)).toBeVisible();
  await look(page, "trace-looked-back");
  await expect(line(page, "words of event 9000")).toBeHidden();
  await page.getByRole("button", { name: "Continue searching" }).click();
  await expect(line(page, "words of event 9000")).toBeVisible();
  await expect(page.getByText(/^Searched back to \d January 2026 at .*: no more matching events\.$/)).toBeVisible();
  // What fits often fills the page without a click.
  await page.getByRole("searchbox").fill("");
  await page.getByRole("combobox", { name: "Actor" }).selectOption("operator/");
  await expect(line(page, "words of event 17998").or(line(page, "words of event 17997"))).toBeVisible();
  await page.getByRole("combobox", { name: "Channel" }).selectOption("cli");
  await expect(page).toHaveURL(/door=cli/);
  await expect(page.getByText(/no matching events\./i)).toBeVisible();
  await page.getByRole("combobox", { name: "Channel" }).selectOption("mcp");
  await page.getByRole("textbox", { name: "Day" }).fill("2026-01-10");
  await expect(page.getByRole("heading", { level: 2 }).first()).toHaveText(/Saturday,? 10 January 2026/);
  // Trace in the rail is the whole trace again.
  await page.getByRole("searchbox").fill("landed");
  await expect(page).toHaveURL(/q=landed/);
  await page.getByRole("navigation", { name: "flower" }).getByRole("link", { name: "Trace" }).click();
  await expect(page).toHaveURL(/\/trace$/);
  await expect(page.getByRole("searchbox")).toHaveValue("");
  await expect(line(page, "words of event 18000")).toBeVisible();
});

test("a quiet project reads only events after the last one known", async ({ page, flower }) => {
  flower.project("web");
  flower.run("brief", "new", "Web one", "--project", "web");
  for (const title of ["One", "Two", "Three"]) flower.brief(title);
  const asked: number[] = [];
  page.on("request", (request) => {
    const address = new URL(request.url());
    const after = address.searchParams.get("after");
    if (address.pathname === "/api/trace" && after) asked.push(Number(after));
  });
  await flower.open(page, "/trace?project=web");
  await expect(line(page, "Web one")).toBeVisible();
  const last = () => flower.json<{ last_event: number }>("status").last_event;
  for (const title of ["Four", "Five"]) {
    const before = asked.length;
    flower.brief(title);
    await expect.poll(() => asked.length).toBeGreaterThan(before);
  }
  const known = last();
  flower.brief("Six");
  await expect.poll(() => asked.at(-1)).toBeGreaterThanOrEqual(known);
  flower.run("brief", "new", "Web two", "--project", "web");
  await expect(line(page, "Web two")).toBeVisible();
});

test("leaving the page while the search is written to the address does not navigate back", async ({ page, flower }) => {
  flower.brief("Paint the door");
  for (const place of ["/trace", "/briefs"]) {
    await flower.open(page, place);
    await expect(page.getByText("Paint the door").first()).toBeVisible();
    await page.getByRole("searchbox").fill("door");
    if (place === "/briefs") {
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
    } else await page.getByRole("link", { name: "#1" }).evaluate((link: HTMLElement) => link.click());
    await page.waitForTimeout(500);
    await expect(page).toHaveURL(/\/briefs\/1$/);
  }
});

test("the log is verified in words and saved as a file", async ({ page, flower }) => {
  flower.brief("Paint the door");
  await page.addInitScript(() => Reflect.deleteProperty(window, "showSaveFilePicker"));
  await flower.open(page, "/trace");
  await page.getByRole("button", { name: "Verify" }).click();
  const told = page.getByRole("status", { name: "Verification" });
  await expect(told).toContainText(/All \d+ events hold/);
  await expect(told).toContainText("The tables match the log.");
  await page.setViewportSize({ width: 390, height: 844 });
  await expect(page.getByRole("button", { name: "Copy head" })).toBeInViewport({ ratio: 1 });
  await page.setViewportSize({ width: 1440, height: 900 });
  await look(page, "trace-verified");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("flower-log.ndjson");
  const lines = readFileSync(await download.path(), "utf8")
    .trim()
    .split("\n");
  expect(lines.map((each) => (JSON.parse(each) as { kind: string }).kind)).toContain("brief_created");

  await page.route("**/api/log/verify*", (route) =>
    route.fulfill({ json: { ok: false, verified: 3, head: "ab", bad_seq: 4, fault: "its hash differs", unproved: 0 } }),
  );
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(told).toContainText("Event 4 is not as it was recorded");
  await expect(told).toContainText("its hash differs");
});

test("ten thousand events scroll smoothly, and older ones come as one goes", async ({ page, flower }) => {
  await serve(page, 10_000);
  await flower.open(page, "/trace");
  await page.getByRole("list", { name: "Events" }).hover();
  const smooth = await scrolled(page, 100, 300);
  console.log(words("10,000 events", smooth));
  expect(smooth.drawn).toBeLessThan(200);
  await expect(async () => {
    await page.mouse.wheel(0, 100_000);
    await expect(page.getByText("Beginning of the log.")).toBeVisible({ timeout: 500 });
  }).toPass({ timeout: 30_000 });
  await expect(page.getByText("10000 events", { exact: true })).toBeVisible();
  await look(page, "trace-many");
  await page.keyboard.press("t");
  await expect(line(page, "words of event 10000")).toBeVisible();
});

test("by keyboard alone: down the trace, a line opened and closed", async ({ page, flower }) => {
  for (const title of ["One", "Two", "Three"]) flower.brief(title);
  await flower.open(page, "/trace");
  await expect(line(page, "One")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const second = page.locator(":focus");
  await expect(second).toHaveAttribute("aria-expanded", "false");
  await page.keyboard.press("Enter");
  await expect(second).toHaveAttribute("aria-expanded", "true");
  await page.keyboard.press("ArrowUp");
  await expect(second).toHaveAttribute("aria-expanded", "false");
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox")).toBeFocused();
});
