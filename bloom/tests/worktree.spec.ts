import { expectNoSeriousFindings } from "./axe";
import { expect, look, test, type Flower } from "./flower";
import { made } from "./lane";

/** Each has a daemon, agents and pictures of its own. */
test.describe.configure({ timeout: 120_000 });

const WORK =
  "write src/hello.txt hi\\nthere\nwrite src/app.txt one\\n2\\nthree\nreserve src/**\ncommit Greet all\nusage 4000 10000 0.12 5000";

/** An agent that has committed something and goes on. */
function working(flower: Flower, more = "hang"): void {
  flower.dispatched("Greet", `${WORK}\n${more}`);
}

test("worktrees appear as they are made, with who works in them", async ({ page, flower }) => {
  await flower.open(page, "/worktrees");
  await expect(page.getByText("No worktrees.")).toBeVisible();
  working(flower);
  const row = page.getByRole("row", { name: /b1-greet/ });
  await expect(row.getByRole("link", { name: /play-1/ })).toBeVisible();
  await expect(row).toContainText("#1");
  await expect(row.getByText("↑1")).toBeVisible();
  flower.run("worktree", "new", "quiet-lane", "--lane");
  await expect(page.getByRole("row", { name: /quiet-lane/ })).toContainText("none");
  await expectNoSeriousFindings(page);
  await look(page, "worktrees");
});

test("worktrees are gone through with two keys", async ({ page, flower }) => {
  for (const name of ["first", "second"]) flower.run("worktree", "new", name, "--lane", "--linked");
  await flower.open(page, "/worktrees");
  const names = page.getByRole("rowheader");
  await expect(names).toHaveCount(2);
  await page.keyboard.press("j");
  await expect(names.nth(0).getByRole("link")).toBeFocused();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(names.nth(1).getByRole("link")).toBeFocused();
  await page.keyboard.press("k");
  const first = (await names.nth(0).textContent())?.trim();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: first, level: 1 })).toBeVisible();
});

test("hosts that a program asked for are listed with what would allow the refused ones", async ({ page, flower }) => {
  flower.run("worktree", "new", "shop-lane", "--lane");
  await flower.open(page, "/worktrees/shop-lane");
  await expect(page.getByText("ready", { exact: true })).toBeVisible();
  await expect(page.getByText(/asked for/)).toBeHidden();
  // The port is refused before the name is looked up.
  const ask =
    'exec 3<>"/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}"; printf "CONNECT example.org:22 HTTP/1.1\\r\\n\\r\\n" >&3; head -1 <&3';
  expect(flower.run("worktree", "shell", "shop-lane", "--", "bash", "-c", ask)).toContain("403");
  const hosts = page.getByRole("group").filter({ hasText: "1 host asked for, 1 refused" });
  await expect(hosts).toBeVisible();
  await hosts.locator("summary").click();
  await expect(hosts.getByText("example.org:22", { exact: true })).toBeVisible();
  await expect(hosts.getByText('allow = ["example.org:22"]')).toBeVisible();
  await expectNoSeriousFindings(page);
  await look(page, "worktree-hosts");
});

test("a worktree is made, removed and restored", async ({ page, flower }) => {
  await flower.open(page, "/worktrees");
  await page.getByRole("button", { name: "New worktree" }).click();
  const dialog = page.getByRole("dialog", { name: "New worktree" });
  await dialog.getByLabel("Name").fill("bad name!");
  await dialog.getByRole("button", { name: "Create worktree" }).click();
  await expect(page.locator("[aria-live=polite]").getByText(/name/).first()).toBeVisible();
  await expect(dialog.getByLabel("Name")).toHaveValue("bad name!");
  await look(page, "worktree-new");
  await dialog.getByLabel("Name").fill("checkout");
  await dialog.getByRole("button", { name: "Create worktree" }).click();
  await expect(page.getByRole("heading", { name: "checkout", level: 1 })).toBeVisible();
  await page.getByRole("button", { name: "Remove checkout" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove it" }).click();
  await expect(page).toHaveURL(/\/worktrees$/);
  await page.getByRole("button", { name: "Restore checkout" }).click();
  await expect(page.getByRole("heading", { name: "checkout", level: 1 })).toBeVisible();
  await expect(page.getByText("ready", { exact: true })).toBeVisible();
});

test("changes are read beside what the agent does", async ({ page, flower }) => {
  working(flower);
  await flower.open(page, "/worktrees/b1-greet");
  await expect(page.getByText("2 files")).toBeVisible();
  const file = page.getByRole("region", { name: "src/app.txt" });
  await expect(file.locator("mark", { hasText: "two" }).or(file.getByText("two"))).toBeVisible();
  await expect(page.getByRole("complementary", { name: "Agent play-1" }).getByRole("log")).toBeVisible();
  await expectNoSeriousFindings(page);
  await look(page, "worktree");
  await page.getByRole("button", { name: "Close play-1" }).click();
  await page.getByRole("button", { name: "Split" }).click();
  await look(page, "worktree-split");
  await page.reload();
  await expect(page.getByRole("button", { name: "Split" })).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("n");
  await page.keyboard.press("n");
  await expect(page.getByRole("button", { name: "Fold src/hello.txt" })).toBeFocused();
  await file.getByLabel("Viewed").check();
  await expect(page.getByText("1 of 2 viewed")).toBeVisible();
  await expect(file.getByRole("table")).toHaveCount(0);
});

test("new commits appear in the changes by themselves", async ({ page, flower }) => {
  working(flower, "question May I?\nwait\nwrite src/later.txt more\ncommit Later\nhang");
  await flower.open(page, "/worktrees/b1-greet");
  await expect(page.getByText("2 files")).toBeVisible();
  flower.run("brief", "answer", "1", "1", "You may.");
  await expect(page.getByRole("region", { name: "src/later.txt" })).toBeVisible({ timeout: 20_000 });
});

test("each commit opens what it changed, by pointer and by key, and leads back", async ({ page, flower }) => {
  made(flower, "echo first > src/first.txt");
  const tree = flower.run("worktree", "path", "lane").trim();
  flower.git("-C", tree, "-c", "alias.make=!echo second > src/second.txt", "make");
  flower.git("-C", tree, "add", "--all");
  flower.git("-C", tree, "commit", "--quiet", "--message", "Another\u202E one");
  await flower.open(page, "/worktrees/lane");
  await expect(page.getByText("2 files")).toBeVisible();
  let broken = true;
  await page.route("**/api/worktrees/lane/commits*", (route) => (broken ? route.abort() : route.continue()));
  await page.reload();
  // What cannot be read says so, in its place.
  await page.getByRole("link", { name: "Commits" }).click();
  await expect(page.getByRole("alert")).toContainText("flower does not answer");
  broken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  const second = page.getByRole("link", { name: /Another/ });
  await expect(second).toContainText("U+202E");
  await page.keyboard.press("j");
  await expect(second).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "src/second.txt" })).toContainText("second");
  await expect(page.getByText("1 file", { exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: /^Comment on line/ })).toHaveCount(0);
  await expectNoSeriousFindings(page);
  await look(page, "worktree-one-commit");
  await page.reload();
  await expect(page.getByRole("region", { name: "src/second.txt" })).toBeVisible();
  await page.keyboard.press("b");
  await page.getByRole("link", { name: "Change it" }).click();
  await expect(page.getByRole("region", { name: "src/first.txt" })).toBeVisible();
  await page.goBack();
  await expect(second).toBeVisible();
  await page.goto(`${flower.url}/worktrees/lane?tab=commits&commit=${"a".repeat(40)}`);
  await expect(page.getByText(/has no commit/)).toBeVisible();
  await page.getByRole("link", { name: "All commits" }).click();
  await expect(second).toBeVisible();
});

test("the selected agent stays when it ends, and new ones appear", async ({ page, flower }) => {
  flower.run("worktree", "new", "lane", "--lane");
  for (const _ of [1, 2]) flower.run("agent", "spawn", "sh", "--worktree", "lane", "--standing");
  await flower.open(page, "/worktrees/lane");
  const list = page.getByRole("list", { name: "Agents" });
  await expect(list.getByRole("link")).toHaveCount(2);
  const shown = page.getByRole("complementary");
  const first = await shown.getAttribute("aria-label");
  flower.run("agent", "stop", (first ?? "").replace("Agent ", ""));
  await expect(list.getByRole("link")).toHaveCount(1);
  await expect(shown).toHaveAttribute("aria-label", first ?? "");
  await expect(shown).toContainText("stopped");
});

test("paths that an agent reserved are shown and released", async ({ page, flower }) => {
  working(flower);
  await flower.open(page, "/worktrees/b1-greet?tab=leases");
  await expect(page.getByText("src/**")).toBeVisible();
  await page.getByRole("button", { name: "Release src/**" }).click();
  await expect(page.getByText("No reserved paths.")).toBeVisible();
});

test("a worktree is brought up to date, an agent is started in it, and it lands", async ({ page, flower }) => {
  flower.run("worktree", "new", "lane", "--lane");
  flower.run(
    "worktree",
    "shell",
    "lane",
    "--",
    "sh",
    "-c",
    "echo x > src/x.txt && git add -A && git commit -qm 'Add x'",
  );
  await flower.open(page, "/worktrees/lane");
  await expect(page.getByText("No agent works here.")).toBeVisible();
  await page.getByRole("button", { name: "Sync" }).click();
  await expect(page.getByText("MAIN is merged")).toBeVisible();
  await page.getByRole("button", { name: "Start an agent" }).click();
  await page.getByRole("radio", { name: /^sh / }).check();
  await expectNoSeriousFindings(page);
  await look(page, "worktree-spawn");
  await page.getByRole("button", { name: "Start sh" }).click();
  await expect(page.getByRole("group", { name: "Terminal of sh-1" })).toBeVisible();
  await page.getByRole("button", { name: "Land", exact: true }).click();
  await page.getByRole("button", { name: "Queue the landing" }).click();
  await expect(page).toHaveURL(/\/landing\/1$/);
  await expect(page.getByText("landed", { exact: true })).toBeVisible();
});

test("a worktree that has landed says so, and can be restored", async ({ page, flower }) => {
  flower.dispatched("Greet", "write src/hello.txt hi\ncommit greet\nhand-back done");
  await expect.poll(() => flower.run("queue", "--json"), { timeout: 20_000 }).toBe("[]\n");
  await flower.open(page, "/worktrees/b1-greet");
  await expect(page.getByText("This worktree was removed.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Restore b1-greet" })).toBeVisible();
});

test("a line is commented on, by pointer and by key, and nothing typed is lost", async ({ page, flower }) => {
  let broken = true;
  await page.route("**/api/worktrees/*/comments*", async (route) => {
    if (route.request().method() === "GET" || !broken) return route.continue();
    const error = { kind: "refused", message: "not now", hints: ["try it once more"] };
    return route.fulfill({ status: 409, json: { error } });
  });
  working(flower);
  await flower.open(page, "/worktrees/b1-greet");
  const file = page.getByRole("region", { name: "src/app.txt" });
  await file.getByRole("cell", { name: "2", exact: true }).last().hover();
  await page.getByRole("button", { name: "Comment on line 2 of src/app.txt" }).last().click();
  await page.getByRole("textbox", { name: "Comment" }).fill("Write it as a word");
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(page.getByText("try it once more")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Comment" })).toHaveValue("Write it as a word");
  broken = false;
  await page.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(file.getByText("sent to play-1")).toBeVisible();
  const [said] = flower.json<Record<string, unknown>[]>("comment", "b1-greet");
  expect(said).toMatchObject({
    file: "src/app.txt",
    line: 2,
    side: "new",
    quote: "2",
    text: "Write it as a word",
    to: "play-1",
  });
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("c");
  await page.getByRole("textbox", { name: "Comment" }).fill("And this");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByText("2 comments").first()).toBeVisible();
  await expectNoSeriousFindings(page);
  await look(page, "worktree-comment");
});

test("a comment that was begun outlives tabs and reloads, and is never said about another line", async ({
  page,
  flower,
}) => {
  made(flower, "printf 'one\\nzwei\\nthree\\n' > src/app.txt; echo new > src/new.txt");
  const tree = flower.run("worktree", "path", "lane").trim();
  const change = (script: string) => {
    flower.git("-C", tree, "-c", `alias.make=!${script}`, "make");
    flower.git("-C", tree, "add", "--all");
    flower.git("-C", tree, "commit", "--quiet", "--message", "Again");
    flower.run("worktree", "new", `stir-${Math.random().toString(36).slice(2, 8)}`, "--lane", "--linked");
  };
  await flower.open(page, "/worktrees/lane");
  const file = page.getByRole("region", { name: "src/app.txt" });
  const text = file.getByRole("textbox", { name: "Comment" });
  await file.getByRole("cell", { name: "2", exact: true }).last().hover();
  await file.getByRole("button", { name: "Comment on line 2 of src/app.txt" }).last().click();
  await text.fill("In English, please");
  await page.getByRole("link", { name: /Commits/ }).click();
  await expect(text).toHaveCount(0);
  await page.getByRole("link", { name: "Changes" }).click();
  await expect(text).toHaveValue("In English, please");
  await page.reload();
  await expect(text).toHaveValue("In English, please");
  await expect(text).not.toBeFocused();

  change("sed -i s/zwei/deux/ src/app.txt");
  await expect(file.getByText("The line has changed. It was:")).toBeVisible();
  await expect(file.getByText("zwei")).toBeVisible();
  await file.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(page.getByText("line 2 of src/app.txt is another one by now")).toBeVisible();
  await expect(text).toHaveValue("In English, please");
  await file.getByRole("button", { name: "Move it to this line" }).click();
  await file.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(file.getByRole("article", { name: /Comment by/ })).toContainText("In English, please");
  expect(flower.json<{ quote: string }[]>("comment", "lane").map((one) => one.quote)).toEqual(["deux"]);
  await page.reload();
  await expect(file.getByRole("article", { name: /Comment by/ })).toBeVisible();
  await expect(text).toHaveCount(0);

  // The file is as MAIN has it, and then nothing at all is changed: what was said can be read still.
  change("git checkout --quiet main -- src/app.txt");
  const outdated = page.getByRole("article", { name: /Comment by/ });
  await page.getByText("1 comment on lines that have changed").click();
  await expect(outdated).toContainText("In English, please");
  await expect(outdated).toContainText("deux");
  change("rm src/new.txt");
  await expect(page.getByText("No commits ahead of MAIN.")).toBeVisible();
  await expect(outdated).toContainText("In English, please");
  await expectNoSeriousFindings(page);
  await look(page, "worktree-outdated");
});
