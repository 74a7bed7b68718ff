import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectNoSeriousFindings } from "./axe";
import { expect, look, test, type Flower } from "./flower";

/** Each has a daemon, agents and pictures of its own. */
test.describe.configure({ timeout: 120_000 });

/** A worktree with a commit that waits to be landed. */
function committed(flower: Flower, name: string, path: string, text: string): void {
  flower.run("worktree", "new", name, "--lane");
  flower.run(
    "worktree",
    "shell",
    name,
    "--",
    "sh",
    "-c",
    `mkdir -p "$(dirname ${path})" && echo ${text} > ${path} && git add -A && git commit -qm "Change ${path}"`,
  );
}

test("work lands, and stands in MAIN's history by its brief", async ({ page, flower }) => {
  await flower.open(page, "/landing");
  await expect(page.getByText("Nothing waits to land.")).toBeVisible();
  flower.dispatched("Greet", "write src/hello.txt hi\ncommit greet\nhand-back done");
  const history = page.getByRole("region", { name: "History of MAIN" });
  await expect(history.getByRole("link", { name: "Greet", exact: true })).toBeVisible({ timeout: 20_000 });
  await expect(history.getByRole("link", { name: "brief 1" })).toHaveAttribute("href", "/briefs/1");
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByRole("dialog")).toContainText("it matches");
});

test("a rejected landing says why, with what its check printed", async ({ page, flower }) => {
  committed(flower, "bad", "src/x.txt", "broken");
  flower.run("land", "bad");
  await flower.open(page, "/landing");
  await page
    .getByRole("region", { name: "Did not land" })
    .getByRole("link", { name: /Change src\/x\.txt/ })
    .click();
  await expect(page.getByText("A check failed on the merged result.")).toBeVisible();
  await expect(page.getByRole("log", { name: "Output of ok" })).toContainText("No output.");
  await expectNoSeriousFindings(page);
  await look(page, "landing-rejected");
});

test("landings are gone through with two keys, those that failed before those that landed", async ({
  page,
  flower,
}) => {
  committed(flower, "good", "src/g.txt", "fine");
  flower.run("land", "good", "--wait");
  committed(flower, "bad", "src/x.txt", "broken");
  flower.run("land", "bad");
  await flower.open(page, "/landing");
  const link = (panel: string, name: RegExp) => page.getByRole("region", { name: panel }).getByRole("link", { name });
  const failed = link("Did not land", /Change src\/x\.txt/);
  const landed = link("History of MAIN", /Change src\/g\.txt/);
  await expect(failed).toBeVisible();
  await expect(landed).toBeVisible();
  await page.keyboard.press("j");
  await expect(failed).toBeFocused();
  await page.keyboard.press("j");
  await expect(landed).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect(page.getByText("A check failed on the merged result.")).toBeVisible();
});

test("a check's output is followed while it runs, and the landing can be cancelled", async ({ page, flower }) => {
  const check = `slow = { run = "for i in $(seq 90); do printf 'step \\\\033[31m%s\\\\033[0m\\\\n' $i; sleep 1; done" }`;
  writeFileSync(join(flower.root, "slow.toml"), `[checks]\n${check}\n[land]\nretries = 0\n`);
  flower.run("worktree", "new", "slow", "--lane", "--linked");
  const tree = flower.run("worktree", "path", "slow").trim();
  copyFileSync(join(flower.root, "slow.toml"), join(tree, "flower.toml"));
  flower.git("-C", tree, "commit", "-qam", "Slow checks");
  flower.run("land", "slow");
  await flower.open(page, "/landing");
  // A command is read as it would run, with all that is in it.
  await expect(page.getByRole("group", { name: "Commands" })).toContainText("for i in $(seq 90); do printf");
  await page.getByRole("button", { name: /Approve landing/ }).click();
  const log = page.getByRole("log", { name: "Output of slow" });
  await expect(log).toContainText("step 1", { timeout: 20_000 });
  await expect(log).toContainText("step 3");
  await look(page, "landing-checking");
  await page.getByRole("button", { name: /Cancel landing/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the landing" }).click();
  await expect(page.getByText("Nothing waits to land.")).toBeVisible();
});

test("what waits for the operator lands when it is approved", async ({ page, flower }) => {
  committed(flower, "playbook", "CLAUDE.md", "be_kind");
  flower.run("land", "playbook");
  await flower.open(page, "/landing");
  const landing = page.getByRole("article", { name: /Change CLAUDE.md/ });
  await expect(landing).toContainText("approval");
  await expect(landing).toContainText("CLAUDE.md");
  await look(page, "landing-approval");
  await landing.getByRole("button", { name: /Approve/ }).click();
  const history = page.getByRole("region", { name: "History of MAIN" });
  await expect(history.getByRole("link", { name: "Change CLAUDE.md" })).toBeVisible();
});

test("what a landing changes is read before it is let in, and still when it is in MAIN", async ({ page, flower }) => {
  committed(flower, "playbook", "CLAUDE.md", "be_kind");
  flower.run("land", "playbook");
  await flower.open(page, "/landing/1");
  const changes = page.getByRole("region", { name: "Changes" });
  const file = changes.getByRole("region", { name: "CLAUDE.md" });
  await expect(page.getByText("not yet: waiting for you")).toBeVisible();
  await expect(file).toContainText("be_kind");
  // It is read only: what should be mended is said in the worktree.
  await expect(file.getByRole("button", { name: /^Comment on line/ })).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Paths" })).toContainText("CLAUDE.md");
  await expectNoSeriousFindings(page);
  await look(page, "landing-changes");
  await page.getByRole("button", { name: "Approve landing 1" }).click();
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
  await expect(page.getByText("by the operator")).toBeVisible();
  await expect(page.getByRole("region", { name: "Paths" })).toHaveCount(0);
  flower.run("worktree", "remove", "playbook");
  await page.reload();
  await expect(file).toContainText("be_kind");
  await expect(changes).toContainText("as merged into MAIN");

  // What takes it back, and what was committed to MAIN by hand, are landings too.
  flower.run("revert", "1", "--why", "too loud", "--wait");
  await page.goto(`${flower.url}/landing/2`);
  await expect(file).toContainText("deleted");
  await expect(file).toContainText("be_kind");
  flower.write("src/app.txt", "one\n2\nthree\n");
  flower.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--all", "--message", "By hand");
  flower.run("main", "adopt");
  await page.goto(`${flower.url}/landing/3`);
  await expect(page.getByText("committed to MAIN by hand")).toBeVisible();
  await expect(changes.getByRole("region", { name: "src/app.txt" })).toContainText("two");
});

test("a landing whose commit is gone says so, and the rest of it is there", async ({ page, flower }) => {
  committed(flower, "lane", "src/y.txt", "fine");
  flower.run("land", "lane", "--wait");
  const message = "commit abc of landing 1 is not there any more";
  const error = { kind: "not_found", message, hints: ["`flower queue show 1` says what became of it"] };
  await page.route("**/api/landings/1/diff*", (route) => route.fulfill({ status: 404, json: { error } }));
  await flower.open(page, "/landing/1");
  await expect(page.getByText(message)).toBeVisible();
  await expect(page.getByText("flower queue show 1")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Checks" })).toContainText("passed");
});

test("MAIN is frozen with a reason and thawed, in both windows", async ({ page, context, flower }) => {
  await flower.open(page, "/landing");
  const other = await context.newPage();
  await other.goto(`${flower.url}/landing`);
  await page.getByRole("button", { name: "Freeze" }).click();
  await page.getByLabel("Why").fill("release day");
  await page.getByRole("button", { name: "Freeze it" }).click();
  for (const window of [page, other])
    await expect(window.getByText("Frozen: release day", { exact: false })).toBeVisible();
  await other.getByRole("button", { name: "Thaw" }).click();
  for (const window of [page, other]) await expect(window.getByText("MAIN stable")).toBeVisible();
});

test("a landing without a brief is reverted with a reason, and its history says so", async ({ page, flower }) => {
  committed(flower, "lane", "src/y.txt", "fine");
  flower.run("land", "lane", "--wait");
  await flower.open(page, "/landing/1");
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Revert landing 1" }).click();
  const dialog = page.getByRole("dialog", { name: "Revert landing 1?" });
  await expect(dialog.getByRole("radio")).toHaveCount(0);
  await dialog.getByRole("textbox", { name: "Why" }).fill("It is slow");
  await dialog.getByRole("button", { name: "Revert", exact: true }).click();
  await expect(page).toHaveURL(/\/landing\/2$/);
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
  await page.goto(`${flower.url}/landing`);
  const history = page.getByRole("region", { name: "History of MAIN" });
  await expect(history.getByText("rolled back", { exact: true })).toBeVisible();
  await expectNoSeriousFindings(page);
  await look(page, "landing-history");
});

/** A brief whose work is in MAIN as landing 1. */
async function landed(flower: Flower): Promise<number> {
  const number = flower.dispatched("Greet", "write src/hello.txt hi\ncommit greet\nhand-back done");
  const state = () => flower.json<{ status: string }>("brief", "show", String(number)).status;
  await expect.poll(state, { timeout: 30_000 }).toBe("landed");
  return number;
}

test("a revert needs a reason, parks its brief, and starts no agent", async ({ page, flower }) => {
  const number = await landed(flower);
  await flower.open(page, "/landing/1");
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
  const sent: unknown[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") sent.push(request.postDataJSON());
  });
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog", { name: "Revert landing 1?" });
  const why = dialog.getByRole("textbox", { name: "Why" });
  const park = dialog.getByRole("button", { name: "Revert and park" });
  await expect(why).toBeFocused();
  await expect(dialog.getByRole("radio", { name: /^Park the brief/ })).toBeChecked();
  await expect(dialog).toContainText("Landing this brief again will need your approval.");
  await page.keyboard.press("Enter");
  await page.keyboard.type("   ");
  await page.keyboard.press("Enter");
  await expect(park).toBeDisabled();
  await expectNoSeriousFindings(page);
  await look(page, "landing-revert");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  expect(sent).toEqual([]);

  await page.getByRole("button", { name: "Revert landing 1" }).click();
  await why.fill("The greeting is rude");
  // By keyboard: to the choice and back to the one that starts nothing.
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  await expect(dialog.getByRole("button", { name: "Revert and start a fix" })).toBeEnabled();
  await look(page, "landing-revert-fix");
  await page.keyboard.press("ArrowUp");
  await expect(park).toBeEnabled();
  await park.click();
  await expect(page).toHaveURL(/\/landing\/2$/);
  expect(sent).toEqual([{ why: "The greeting is rude", fix: false }]);
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
  const brief = () => flower.json<{ status: string }>("brief", "show", String(number)).status;
  await expect.poll(brief).toBe("parked");
  // flower dispatches by itself right after a brief has moved: a later dispatch proves that none came.
  flower.dispatched("Shelves", "hang");
  await expect.poll(() => flower.json<{ name: string }[]>("agent").map((agent) => agent.name)).toEqual(["play-2"]);
  expect(flower.json<unknown[]>("dispatch", "list", "--brief", String(number), "--all")).toHaveLength(1);
  await page.goto(`${flower.url}/briefs/${number}`);
  await expect(page.getByRole("list", { name: "Trace" })).toContainText("The greeting is rude");
});

test("a revert with a fix says that an agent starts, and starts it with the reason", async ({ page, flower }) => {
  const number = await landed(flower);
  await flower.open(page, "/landing/1");
  await page.getByRole("button", { name: "Revert landing 1" }).click();
  const dialog = page.getByRole("dialog", { name: "Revert landing 1?" });
  await dialog.getByRole("textbox", { name: "Why" }).fill("The greeting is rude");
  await dialog.getByRole("radio", { name: /an agent starts at once/ }).check();
  await dialog.getByRole("button", { name: "Revert and start a fix" }).click();
  await expect(page).toHaveURL(/\/landing\/2$/);
  const fixes = () =>
    flower
      .json<{ kind: string; evidence: string }[]>("dispatch", "list", "--brief", String(number), "--all")
      .filter((one) => one.kind === "fix");
  await expect.poll(fixes, { timeout: 30_000 }).toHaveLength(1);
  expect(fixes()[0]?.evidence).toContain("The greeting is rude");
});

test("what is at MAIN's remote is pulled in through the checks, and MAIN is pushed to it", async ({ page, flower }) => {
  await flower.open(page, "/landing");
  await page.getByRole("button", { name: "Push" }).click();
  // Without a remote flower says so, and the page shows it.
  const told = page.locator("[aria-live=polite]");
  await expect(told.getByText(/remote/).first()).toBeVisible();

  const [bare, other] = [join(flower.root, "remote.git"), join(flower.root, "other")];
  flower.git("init", "--quiet", "--bare", "--initial-branch=main", bare);
  flower.git("remote", "add", "upstream", bare);
  await page.getByRole("button", { name: "Push" }).click();
  await expect(page.getByRole("region", { name: "MAIN", exact: true })).toContainText("Pushed to upstream");
  expect(flower.git("-C", bare, "rev-parse", "main")).toBe(flower.git("rev-parse", "main"));

  flower.git("clone", "--quiet", bare, other);
  writeFileSync(join(other, "theirs.txt"), "theirs");
  const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  flower.git("-C", other, "add", "--all");
  flower.git("-C", other, ...identity, "commit", "--quiet", "--message", "Theirs");
  flower.git("-C", other, "push", "--quiet", "origin", "main");
  await page.getByRole("button", { name: "Pull" }).click();
  await expect(page).toHaveURL(/\/landing\/1$/);
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
  expect(flower.git("show", "main:theirs.txt")).toBe("theirs");

  await page.goto(`${flower.url}/landing`);
  await page.getByRole("button", { name: "Pull" }).click();
  await expect(told.getByText("upstream has no new commits")).toBeVisible();
  writeFileSync(join(bare, "hooks/pre-receive"), "#!/bin/sh\necho not today >&2\nexit 1\n", { mode: 0o755 });
  committed(flower, "lane", "src/z.txt", "fine");
  flower.run("land", "lane", "--wait");
  await page.getByRole("button", { name: "Push" }).click();
  await expect(told.getByText(/upstream did not take it/).first()).toBeVisible();
});

test("the queue stands in the order in which it lands, and moves as it changes", async ({ page, flower }) => {
  for (const name of ["some", "more", "last"]) committed(flower, name, `src/${name}.txt`, name);
  flower.run("freeze", "until all are there");
  flower.run("land", "some", "--priority", "low");
  await flower.open(page, "/landing");
  const queue = page.getByRole("region", { name: "Queue" });
  const titles = () => queue.getByRole("heading", { level: 3 }).allInnerTexts();
  await expect.poll(titles).toEqual(["1 Change src/some.txt"]);
  flower.run("land", "more");
  await expect.poll(titles).toEqual(["2 Change src/more.txt", "1 Change src/some.txt"]);
  flower.run("land", "last", "--priority", "high");
  await expect.poll(titles).toEqual(["3 Change src/last.txt", "2 Change src/more.txt", "1 Change src/some.txt"]);
  await expect(queue.getByRole("article", { name: /Landing 3/ })).toContainText("high priority");
  flower.run("queue", "cancel", "3");
  await expect.poll(titles).toEqual(["2 Change src/more.txt", "1 Change src/some.txt"]);
  flower.run("thaw");
  await expect(queue.getByText("Nothing waits to land.")).toBeVisible();
});

test("what a check prints is only text, and stays while another one runs and ends", async ({
  page,
  context,
  flower,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const file = join(flower.root, "print.sh");
  // Colours, a link (OSC 8), the clipboard (OSC 52), a title, and moves of the cursor.
  writeFileSync(
    file,
    [
      String.raw`printf '\033[1;31mred\033[0m \033]8;;https://evil.example/\033\\click\033]8;;\033\\ here\n'`,
      String.raw`printf '\033]52;c;c3RvbGVu\a\033]0;owned\a\033[2J\033[H<b>bold</b>\n'`,
    ].join("\n"),
  );
  flower.run("worktree", "new", "slow", "--lane", "--linked");
  const tree = flower.run("worktree", "path", "slow").trim();
  copyFileSync(file, join(tree, "print.sh"));
  writeFileSync(
    join(tree, "flower.toml"),
    `[checks]\na_print = { run = "sh print.sh", reuse = false }\nb_red = { run = "sleep 5; false" }\n[land]\nretries = 1\n`,
  );
  flower.git("-C", tree, "add", "--all");
  flower.git("-C", tree, "commit", "--quiet", "--message", "Print");
  flower.run("land", "slow");
  await flower.open(page, "/landing/1");
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  await page.getByRole("button", { name: /Approve landing/ }).click();
  // A red run is run again, all of it.
  await expect(page.getByRole("button", { name: /b_red\s+running again/ })).toBeVisible({ timeout: 60_000 });
  await page.getByRole("button", { name: /a_print passed/ }).click();
  const log = page.getByRole("log", { name: "Output of a_print" });
  await expect(log).toHaveText("red click here\n<b>bold</b>\n");
  await expect(log.locator("a, b, mark")).toHaveCount(0);
  await expect(page).toHaveTitle(/Landing 1/);
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("mine");
  await log.evaluate((box) => box.setAttribute("data-read", "yes"));
  await expect(page.getByText("A check failed on the merged result.")).toBeVisible();
  await expect(log).toHaveAttribute("data-read", "yes");
});

test("halt stops every agent and freezes MAIN, and says so before", async ({ page, flower }) => {
  flower.dispatched("Greet", "hang");
  await flower.open(page, "/agents/play-1");
  await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
  await page.goto(`${flower.url}/landing`);
  await page.getByRole("button", { name: "Halt everything" }).click();
  const dialog = page.getByRole("dialog", { name: "Halt everything?" });
  await expect(dialog).toContainText("Every agent of every project is stopped");
  await look(page, "halt");
  await dialog.getByRole("button", { name: "Halt everything" }).click();
  await expect(page.getByText("MAIN frozen")).toBeVisible();
  await page.goto(`${flower.url}/agents/play-1`);
  await expect(page.getByText("halted", { exact: true })).toBeVisible();
});
