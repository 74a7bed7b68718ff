import { expectNoSeriousFindings } from "./axe";
import { expect, look, test, type Flower } from "./flower";
import { made } from "./lane";

/** Each has a daemon of its own, and the large ones take their time to be made. */
test.describe.configure({ timeout: 120_000 });

/** The same in MAIN, before flower serves it as landed. */
function begun(flower: Flower, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) flower.write(path, text);
  flower.run("worktree", "new", "begin", "--lane", "--linked");
  const tree = flower.run("worktree", "path", "begin").trim();
  flower.git("add", "--all");
  const stash = flower.git("stash", "create").trim();
  flower.git("reset", "--quiet", "--hard");
  flower.git("-C", tree, "checkout", "--quiet", stash, "--", ".");
  flower.git("-C", tree, "commit", "--quiet", "--message", "Begin");
  flower.run("land", "begin", "--wait");
}

const BEFORE = `use std::fmt;

/// A price in cents.
pub fn total(price: u64, count: u64) -> u64 {
    let text = "sum";
    price * 2 // twice
}
`;
const AFTER = `use std::fmt;

/// A price in cents, never less than nothing.
pub fn total(price: u64, count: u64) -> u64 {
    let text = "total\u202E";
    price * count // each
}
`;

test("code has syntax colours, readable on every background, and hidden characters are marked", async ({
  page,
  flower,
}) => {
  begun(flower, { "src/price.rs": BEFORE, "src/app.ts": "export const one = 1;\n" });
  made(
    flower,
    `cat > src/price.rs <<'END'\n${AFTER}END\n` +
      `echo 'export const one: string = "1";' > src/app.ts\n` +
      `printf 'let long = "%s";\\n' "$(head -c 3000 /dev/zero | tr '\\0' x)" > src/long.rs\n`,
  );
  await flower.open(page, "/worktrees/lane");
  const file = page.getByRole("region", { name: "src/price.rs" });
  const colour = (text: string) =>
    file
      .getByRole("row", { name: /pub fn/ })
      .getByText(text, { exact: true })
      .first()
      .evaluate((part) => getComputedStyle(part).color);
  const plain = await file.getByRole("row", { name: /pub fn/ }).evaluate((row) => getComputedStyle(row).color);
  await expect.poll(() => colour("fn")).not.toBe(plain);
  expect(await colour("total")).not.toBe(await colour("fn"));
  // What changed inside of a line is marked, coloured or not, and so is what cannot be seen.
  await expect(file.locator("mark", { hasText: /^count$/ })).toBeVisible();
  await expect(file.getByTitle("direction character")).toHaveText("U+202E");
  await expect(page.getByRole("region", { name: "src/long.rs" }).getByText("let long")).toBeVisible();
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForTimeout(300);
    await expectNoSeriousFindings(page);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await look(page, "diff");
  await page.getByRole("button", { name: "Split" }).click();
  await expect.poll(() => colour("fn")).not.toBe(plain);
  await look(page, "diff-split");
});

test("changes of a file beyond its lines are described in words", async ({ page, flower }) => {
  begun(flower, { "src/old-name.txt": "a\nb\nc\nd\n", "src/hollow.txt": "x\ny\n", "src/run.sh": "echo hi\n" });
  made(
    flower,
    `mv src/old-name.txt src/new-name.txt; : > src/hollow.txt; chmod +x src/run.sh; ln -s app.txt src/way
head -c 300 /dev/urandom > src/logo.bin; printf '\\0' >> src/logo.bin; : > src/empty.txt
printf 'no end' > src/open.txt; rm src/app.txt
`,
  );
  await flower.open(page, "/worktrees/lane");
  const file = (name: string) => page.getByRole("region", { name: `src/${name}` });
  await expect(file("new-name.txt")).toContainText("src/old-name.txt → src/new-name.txt");
  // Which end of a long path is cut must not turn the arrow around.
  const places = await file("new-name.txt")
    .getByRole("heading")
    .evaluate((heading) => {
      const left = (text: string) => {
        const walker = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          const range = document.createRange();
          range.selectNodeContents(node);
          if (node.nodeValue?.includes(text)) return range.getBoundingClientRect().left;
        }
        return NaN;
      };
      return [left("old-name"), left("new-name")] as const;
    });
  expect(places[0]).toBeLessThan(places[1]);
  await expect(file("new-name.txt")).toContainText("Only its name changed.");
  await expect(file("hollow.txt")).toContainText("Nothing is left in it");
  await expect(file("run.sh")).toContainText("was an ordinary file, and is a file that can be run");
  await expect(file("way")).toContainText("It is a symbolic link");
  await expect(file("way")).toContainText("app.txt");
  await expect(file("logo.bin")).toContainText("It is a binary file");
  await expect(file("empty.txt")).toContainText("It is empty.");
  await expect(file("open.txt")).toContainText("no line break at the end");
  await expect(file("app.txt")).toContainText("deleted");
  await expectNoSeriousFindings(page);
  await look(page, "diff-odd");
});

test("a file that became a link is shown as deleted and as new, each with its own viewed mark", async ({
  page,
  flower,
}) => {
  begun(flower, { "src/way.txt": "a\nb\n", "src/other.txt": "x\n" });
  made(flower, `rm src/way.txt; ln -s other.txt src/way.txt; echo y > src/other.txt`);
  await flower.open(page, "/worktrees/lane");
  await expect(page.getByText("3 files")).toBeVisible();
  const both = page.getByRole("region", { name: "src/way.txt" });
  await expect(both).toHaveCount(2);
  await expect(both.nth(0)).toContainText("deleted");
  await expect(both.nth(1)).toContainText("It is a symbolic link");
  await expect(page.getByRole("list", { name: "Changed files" }).getByRole("button", { name: /way.txt/ })).toHaveCount(
    2,
  );
  for (const one of [0, 1]) await both.nth(one).getByLabel("Viewed").check();
  await expect(page.getByText("2 of 3 viewed")).toBeVisible();
});

test("lines around a change can be shown, coloured as a whole file, and commented on", async ({ page, flower }) => {
  const lines = Array.from({ length: 120 }, (_, index) => `let line_${index + 1} = ${index + 1};`);
  // A comment that begins long before the change inside of it.
  lines[60] = "/* begins";
  lines[90] = "ends */ let after = 1;";
  begun(flower, { "src/long.rs": `${lines.join("\n")}\n` });
  made(
    flower,
    `sed -i -e 's/line_40 = 40/line_40 = 41/' -e 's/line_80 = 80/line_80 = 81/' src/long.rs; echo new > src/new.rs`,
  );
  await flower.open(page, "/worktrees/lane");
  const file = page.getByRole("region", { name: "src/long.rs" });
  const row = (text: string) => file.getByRole("row").filter({ hasText: new RegExp(`${text};`) });
  const button = (name: string) => file.getByRole("button", { name, exact: true });
  await expect(row("line_40 = 41")).toBeVisible();
  await expect(page.getByRole("region", { name: "src/new.rs" }).getByRole("button", { name: /^Show/ })).toHaveCount(0);
  await expect(button("Show the rest")).toBeVisible();
  await look(page, "diff-folded");

  // Without an answer it says so in its place, and can be asked again.
  await page.route("**/file?*", (route) => route.abort());
  await button("Show all 36 lines").click();
  await expect(file.getByRole("alert").first()).toContainText("flower does not answer");
  await page.unroute("**/file?*");
  let reads = 0;
  page.on("request", (request) => (reads += /\/file\?/.test(request.url()) ? 1 : 0));
  await button("Show 20 lines above").first().press("Enter");
  await expect(file.getByRole("alert")).toHaveCount(0);
  await expect(row("line_17 = 17")).toContainText(/^17\s*17/);
  await expect(row("line_16 = 16")).toHaveCount(0);
  await button("Show 16 lines").click();
  await expect(row("line_1 = 1")).toBeVisible();
  await expect(button("Show all 33 lines")).toBeVisible();
  await button("Show 20 lines below").first().press("Enter");
  await expect(file.getByRole("button", { name: "Comment on line 44 of src/long.rs" })).toBeFocused();
  await expect(row("line_60 = 60")).toBeVisible();
  expect(reads).toBe(1);
  // The change is inside of a comment, as its file says and its lines alone do not.
  const colour = (text: string) =>
    row(text)
      .first()
      .locator("td")
      .last()
      .locator("span")
      .first()
      .evaluate((part) => getComputedStyle(part).color);
  const comment = () => colour("line_79 = 79");
  expect(await comment()).not.toBe(await colour("line_60 = 60"));
  await look(page, "diff-unfolded");

  await page.keyboard.press("c");
  await page.getByRole("textbox", { name: "Comment" }).fill("Why 44?");
  await file.getByRole("button", { name: "Comment", exact: true }).click();
  await expect(file.getByRole("article", { name: /Comment by/ })).toContainText("Why 44?");
  await page.getByRole("button", { name: "Split" }).click();
  await expect(row("line_50 = 50").getByText("50", { exact: true })).toHaveCount(4);
  await look(page, "diff-unfolded-split");
  await expectNoSeriousFindings(page);
  // A comment brings its line with it.
  await page.reload();
  await expect(file.getByRole("article", { name: /Comment by/ })).toContainText("Why 44?");
  await expect(row("line_47 = 47")).toBeVisible();
  await expect(row("line_50 = 50")).toHaveCount(0);
  // Another version of the file is folded again, with what was said.
  const tree = flower.run("worktree", "path", "lane").trim();
  await button("Show all 37 lines").click();
  await expect(row("line_120 = 120")).toBeVisible();
  flower.git("-C", tree, "-c", "alias.make=!sed -i 's/line_81 = 81/line_81 = 82/' src/long.rs", "make");
  flower.git("-C", tree, "commit", "--quiet", "--all", "--message", "Again");
  flower.run("worktree", "new", "other", "--lane", "--linked");
  await expect(row("line_81 = 82")).toBeVisible();
  await expect(row("line_120 = 120")).toHaveCount(0);
  await expect(file.getByRole("article", { name: /Comment by/ })).toContainText("Why 44?");
});
