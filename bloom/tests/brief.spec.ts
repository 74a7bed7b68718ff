import { expectNoSeriousFindings } from "./axe";
import { expect, look, test } from "./flower";

const SPEC = `# A cart that keeps what is in it

**Problem:** a reload of the shop loses the cart.

## What should be done
- keep the cart in \`localStorage\`, for **30 days**
- show how many things are in it
- [ ] tell when something is not sold any more

| where | what |
|---|---|
| \`src/app.txt\` | the count |

\`\`\`play
write src/app.txt one\\ntwo\\nfour
commit Count the cart
question Should the count be shown when it is zero?
wait
hand-back Counted, with a test.
\`\`\`
`;
const PANELS = ["Spec", "Dispatch", "Trace", "Relationships", "Participants", "Links", "Projects", "Agent’s-eye view"];

test("a brief as a whole, from its plan to what is done on it", async ({ page, flower }) => {
  // Many pictures are taken on the way.
  test.setTimeout(180_000);
  const needs = flower.brief("Prices in one place", "# Prices");
  const number = flower.brief("A cart that keeps what is in it", SPEC, "--needs", String(needs));
  flower.run("brief", "note", String(number), "See the **mail** of Monday.");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toContainText(`#${number} A cart that keeps what is in it`);
  for (const name of PANELS) await expect(page.getByRole("heading", { name, level: 2, exact: true })).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Breadcrumb" })).toHaveText(
    new RegExp(`flower\\s*All briefs\\s*#${number}`),
  );
  await page.getByRole("button", { name: "Accept plan" }).click();
  await expect(page.getByRole("button", { name: /Status: planned/ })).toBeVisible();
  await expect(page.getByRole("region", { name: "Relationships" })).toContainText("it needs brief 1, which is draft");
  await expectNoSeriousFindings(page);
  await look(page, "brief-planned");
  await page.getByRole("button", { name: `Remove #${needs}` }).click();
  await expect(page.getByText("Can be dispatched as build.")).toBeVisible();
  await page.getByRole("combobox", { name: "agent", exact: true }).selectOption("play");
  await page.getByRole("button", { name: "Dispatch build" }).click();
  await expect(page.getByRole("group", { name: "Question 1" })).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("list", { name: "Dispatches" })).toContainText("executing");
  await expect(page.getByRole("region", { name: "Participants" })).toContainText("play-1");
  await expect(page.getByRole("region", { name: "Links" })).toContainText("Count the cart");
  await expectNoSeriousFindings(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await expectNoSeriousFindings(page);
  await look(page, "brief-asked");
  await page.getByRole("group", { name: "Question 1" }).scrollIntoViewIfNeeded();
  await look(page, "brief-trace");
  await page.getByRole("region", { name: "Agent’s-eye view" }).scrollIntoViewIfNeeded();
  await look(page, "brief-side");
  for (const width of [390, 800, 1200, 2560]) {
    await page.setViewportSize({ width, height: 900 });
    const over = await page.locator("main").evaluate((main) => main.scrollWidth - main.clientWidth);
    expect(over, `at ${width} px`).toBe(0);
  }
  await page.screenshot({ path: ".screenshots/brief-2560.png" });
});

test("title, kind and status are changed where they stand, and a refusal says why", async ({ page, flower }) => {
  const number = flower.brief("Old name", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("textbox", { name: "Title" }).fill("New name");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("New name");
  await expect(page).toHaveTitle(/New name/);
  await page.getByRole("combobox", { name: "Kind" }).selectOption("fix");
  await expect(page.getByRole("list", { name: "Trace" })).toContainText("feature → fix");
  await page.getByRole("button", { name: /Status: draft/ }).click();
  await page.getByRole("menuitem", { name: "Park" }).click();
  await page.getByRole("textbox", { name: "Why" }).fill("not this week");
  await page.getByRole("button", { name: "Park it" }).click();
  await expect(page.getByRole("list", { name: "Trace" })).toContainText("draft → parked: not this week");
  await page.getByRole("button", { name: /Status: parked/ }).click();
  await page.getByRole("menuitem", { name: "Resume" }).click();
  await expect(page.getByRole("button", { name: /Status: draft/ })).toBeVisible();
  // Another client changes the status first.
  await page.route("**/api/briefs/*/status", async (route) => {
    flower.run("brief", "status", String(number), "cancelled");
    await route.continue();
  });
  await page.getByRole("button", { name: /Status: draft/ }).click();
  await page.getByRole("menuitem", { name: "Park" }).click();
  await page.getByRole("button", { name: "Park it" }).click();
  await expect(page.getByText("it cannot become parked: that status is final")).toBeVisible();
});

test("a result is sent back with a reason, or is done where it changed no code", async ({ page, flower }) => {
  const number = String(flower.brief("By hand", "# Plan"));
  flower.run("brief", "accept", number);
  for (const status of ["in_progress", "in_review"]) flower.run("brief", "status", number, status);
  await flower.open(page, `/briefs/${number}`);
  await page.getByRole("button", { name: /Status: in review/ }).click();
  await page.getByRole("menuitem", { name: "Send back to work" }).click();
  await page.getByRole("textbox", { name: "Why" }).fill("the sums are wrong");
  await page.getByRole("button", { name: "Send it back" }).click();
  const trace = page.getByRole("list", { name: "Trace" });
  await expect(trace).toContainText("in review → in progress: the sums are wrong");
  await expect(page.getByRole("dialog")).toBeHidden();
  // A brief is taken up where it was.
  for (const [keys, sure] of [["sp", "Park it"], ["su", "Resume it"], ["sr"], ["sd", "Mark it as done"]] as [
    string,
    string?,
  ][]) {
    for (const key of keys) await page.keyboard.press(key);
    if (sure) await page.getByRole("button", { name: sure }).click();
    await expect(page.getByRole("dialog")).toBeHidden();
    const now = { sp: "parked", su: "in progress", sr: "in review", sd: "done" }[keys];
    await expect(page.locator(".facts .chip")).toHaveText(now!);
  }
  expect(flower.json<{ status: string }>("brief", "show", number).status).toBe("done");
});

test("a packet is really copied, and says when it is not; one more agent gets one too", async ({
  page,
  context,
  flower,
}) => {
  const number = flower.dispatched("Long work", "say At it.\nsleep 90");
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: flower.url });
  await flower.open(page, `/briefs/${number}`);
  const dispatches = page.getByRole("list", { name: "Dispatches" });
  await expect(dispatches).toContainText("executing", { timeout: 30_000 });
  await page.keyboard.press("y");
  const dialog = page.getByRole("dialog", { name: "Packet of dispatch 1" });
  await expect(dialog).toContainText("play-1 already works on it");
  await dialog.getByRole("button", { name: "Make the packet" }).click();
  await expect(dialog).toContainText("work beside the agent that holds this dispatch");
  await look(page, "brief-packet-member");
  const packet = await dialog.getByRole("region", { name: "The packet" }).textContent();
  expect(packet).toContain("You work beside the agent that holds the claim");
  await dialog.getByRole("button", { name: "Copy the packet" }).click();
  await expect(dialog.getByRole("button", { name: "Copied" })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(packet);
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error("no"));
  });
  await dialog.getByRole("button", { name: "Copy the packet" }).click();
  await expect(dialog.getByText("This browser blocks copying")).toBeVisible();
});

test("a dispatch without an agent has a packet, shown once, and can be cancelled", async ({ page, flower }) => {
  const number = flower.brief("By hand", "# Plan");
  flower.run("brief", "accept", String(number));
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.getByRole("radio", { name: "fix" }).check({ force: true });
  await expect(page.getByText("there is no work to mend yet")).toBeVisible();
  await expect(page.getByRole("button", { name: "Dispatch fix" })).toBeDisabled();
  await page.getByRole("radio", { name: "build" }).check({ force: true });
  await page.getByRole("textbox", { name: "worktree" }).fill("by-hand");
  await page.getByRole("button", { name: "Dispatch build" }).click();
  await page.getByRole("button", { name: "Make the packet" }).click();
  await expect(page.getByRole("region", { name: "The packet" })).toContainText("by-hand");
  await look(page, "brief-packet");
  await page.keyboard.press("Escape");
  const dispatches = page.getByRole("list", { name: "Dispatches" });
  await expect(dispatches).toContainText("waits:");
  await dispatches.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("textbox", { name: "Why" }).fill("wrong kind");
  await look(page, "brief-dispatch-cancel");
  await page.getByRole("button", { name: "Cancel the dispatch" }).click();
  await expect(dispatches).toContainText("cancelled");
  expect(flower.run("brief", "trace", String(number))).toContain("wrong kind");
  await page.getByRole("switch", { name: /Auto-dispatch/ }).click();
  await expect(page.getByRole("list", { name: "Trace" })).toContainText("auto-dispatch on");
  await expect(page.getByRole("switch", { name: /Auto-dispatch/ })).toBeChecked();
  await page.getByRole("switch", { name: /Design-loop/ }).click();
  await expect(page.getByRole("list", { name: "Trace" })).toContainText("auto-dispatch on, design-loop on");
  expect(flower.json<{ design_loop: boolean }>("brief", "show", String(number)).design_loop).toBe(true);
});

test("dependencies and epics are chosen, circles refused, and the graph shows all of it", async ({ page, flower }) => {
  const epic = flower.brief("The whole shop", "", "--kind", "epic");
  const first = flower.brief("Foundation stones", "# Plan");
  const second = flower.brief("Walls upon them", "# Plan");
  await flower.open(page, `/briefs/${second}`);
  const relations = page.getByRole("region", { name: "Relationships" });
  await relations.getByRole("combobox", { name: "epic parent" }).selectOption({ label: `#${epic} The whole shop` });
  await expect(relations.getByRole("link", { name: "Open" })).toHaveAttribute("href", `/briefs/${epic}`);
  const picker = relations.getByRole("combobox", { name: "Add a dependency" });
  await picker.fill("foundation");
  await expect(relations.getByRole("option", { name: /Foundation stones/ })).toBeVisible();
  await picker.press("Enter");
  await expect(relations.getByRole("list", { name: "Depends on" })).toContainText("Foundation stones");
  await page.goto(`${flower.url}/briefs/${first}`);
  await expect(relations.getByRole("list", { name: "Needed by" })).toContainText("Walls upon them");
  await picker.fill(`#${second}`);
  await relations.getByRole("option", { name: /Walls/ }).click();
  await expect(page.getByText("that would make a circle")).toBeVisible();
  await expect(picker).toHaveValue(`#${second}`);
  await page.goto(`${flower.url}/briefs/${epic}`);
  await expect(relations).toContainText("0 of 1 done");
  await page.getByRole("button", { name: "Graph" }).click();
  const graph = page.getByRole("dialog", { name: `Graph of #${epic}` });
  await expect(graph.getByRole("link", { name: `#${second} Walls upon them draft` })).toBeVisible();
  await look(page, "brief-graph");
  await graph.getByRole("button", { name: "List" }).click();
  await graph.getByRole("link", { name: "Walls upon them" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Walls upon them");
});

test("related briefs are read in one request, and again only when they change; the agent's view is read once", async ({
  page,
  flower,
}) => {
  const first = flower.brief("Foundation stones", "# Plan");
  const number = flower.brief("Walls upon them", "# Plan", "--needs", String(first));
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const reads = (path: string) => asked.filter((one) => one === path).length;
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("list", { name: "Depends on" })).toContainText("Foundation stones");
  await expect(page.getByRole("region", { name: "What an agent reads" })).toBeVisible();
  await page.waitForTimeout(500);
  const rows = reads("/api/brief-rows");
  const own = reads(`/api/briefs/${number}`);
  const recalled = reads(`/api/briefs/${number}/recall`);
  for (const text of ["one", "two", "three"]) {
    flower.run("brief", "note", String(number), text);
    await expect(page.getByRole("list", { name: "Trace" }).getByText(text, { exact: true })).toBeVisible();
  }
  // Changes are read in their order: what the notes lead to was asked for before this is shown.
  flower.run("brief", "edit", String(first), "--title", "Foundation rocks");
  await expect(page.getByRole("list", { name: "Depends on" })).toContainText("Foundation rocks");
  expect(reads(`/api/briefs/${first}`)).toBe(0);
  expect(reads(`/api/briefs/${number}`)).toBeGreaterThan(own);
  expect(reads("/api/brief-rows")).toBe(rows + 1);
  const after = reads(`/api/briefs/${number}/recall`);
  expect(after).toBeLessThanOrEqual(recalled + 3);
  await page.getByRole("combobox", { name: "budget" }).selectOption("1000");
  await expect(page.getByText(/of 1k tokens/)).toBeVisible();
  await page.waitForTimeout(300);
  expect(reads(`/api/briefs/${number}/recall`)).toBe(after + 1);
});

test("a graph of 60 briefs can be read and walked by keyboard", async ({ page, flower }) => {
  const numbers: number[] = [];
  for (let at = 0; at < 60; at++) {
    const needs = at === 0 ? [] : ["--needs", String(numbers[Math.floor((at - 1) / 3)])];
    numbers.push(flower.brief(`Step ${at} of a long way to the sea`, "", ...needs));
  }
  await flower.open(page, `/briefs/${numbers[5]}`);
  await page.getByRole("button", { name: "Graph" }).click();
  const graph = page.getByRole("region", { name: "Graph" });
  await expect(graph.getByRole("link")).toHaveCount(60);
  await graph.focus();
  await page.keyboard.press("Tab");
  await expect(graph.getByRole("link").first()).toBeFocused();
  await look(page, "brief-graph-60");
  await expectNoSeriousFindings(page);
});

test("links lead where they can, scratchpads open, and the agent's view is the real one", async ({ page, flower }) => {
  const number = flower.brief("Linked", "# Plan of the linked");
  flower.run("scratchpad", "new", "Thoughts", "--brief", String(number));
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const links = page.getByRole("region", { name: "Links" });
  await links.getByRole("button", { name: "Add a link" }).click();
  await page.getByRole("textbox", { name: "Target" }).fill("javascript:alert(1)");
  await page.getByRole("button", { name: "Add the link" }).click();
  await expect(page.getByText("is no target for a address link")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Target" })).toHaveValue("javascript:alert(1)");
  await page.getByRole("textbox", { name: "Target" }).fill("https://example.com/talk");
  await page.getByRole("button", { name: "Add the link" }).click();
  await expect(links.getByRole("link", { name: "https://example.com/talk" })).toHaveAttribute("rel", /noreferrer/);
  await links.getByRole("button", { name: /Scratchpad #1/ }).click();
  await expect(page.getByRole("dialog", { name: "Scratchpad #1" })).toContainText("Thoughts");
  await page.keyboard.press("Escape");
  const seen = page.getByRole("region", { name: "What an agent reads" });
  await expect(seen).toContainText("Plan of the linked");
  await expect(seen).toContainText("https://example.com/talk");
  const real = flower.run("brief", "show", String(number), "--as-agent");
  expect((await seen.textContent())?.trim()).toBe(real.trim());
});

test("everything is reached with the keyboard alone", async ({ page, flower }) => {
  const number = flower.brief("Keys only", "# Plan");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Keys only");
  await page.keyboard.press("a");
  const sure = page.getByRole("dialog", { name: `Accept plan of #${number}?` });
  await expect(sure).toContainText("Plan version 1 waits for you.");
  await look(page, "brief-accept");
  await page.keyboard.press("Escape");
  expect(flower.json<{ status: string }>("brief", "show", String(number)).status).toBe("draft");
  await page.keyboard.press("a");
  await sure.getByRole("button", { name: "Accept plan" }).press("Enter");
  await expect(page.getByRole("button", { name: /Status: planned/ })).toBeVisible();
  await page.getByRole("button", { name: /Status: planned/ }).focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("menuitem", { name: "Start by hand" })).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("menuitem", { name: "Park" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: /Status: planned/ })).toBeFocused();
  await page.keyboard.press("d");
  await expect(page.getByRole("radio", { name: "build" })).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("radio", { name: "review" })).toBeChecked();
  await page.getByRole("button", { name: "Edit" }).focus();
  await page.keyboard.press("x");
  await expect(page.getByRole("dialog", { name: `Graph of #${number}` })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("l");
  await expect(page.getByRole("dialog", { name: /Add a link/ })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("o");
  const turnOn = page.getByRole("dialog", { name: `Turn on design-loop for #${number}?` });
  await turnOn.getByRole("button", { name: "Turn on design-loop" }).press("Enter");
  await expect(page.getByRole("switch", { name: /Design-loop/ })).toBeChecked();
  await page.keyboard.press("t");
  await expect(page.getByRole("combobox", { name: "Kind" })).toBeFocused();
  await page.getByRole("button", { name: "Edit" }).focus();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("kind fix");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Trace" })).toContainText("feature → fix");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("status cancel");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: `Cancel #${number}` })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("m");
  await expect(page.getByRole("textbox", { name: "Comment" })).toBeFocused();
});

test("a brief that is not there says so", async ({ page, flower }) => {
  await flower.open(page, "/briefs/999");
  await expect(page.getByText("There is no brief #999.")).toBeVisible();
  await page.goto(`${flower.url}/briefs/nonsense`);
  await expect(page.getByText("That is no number of a brief.")).toBeVisible();
});
