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

test("code has the colours of its language, readable on every ground, and hides nothing", async ({ page, flower }) => {
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

test("what happens to a file beyond its lines is said in words", async ({ page, flower }) => {
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
  await expect(file("logo.bin")).toContainText("It is no text");
  await expect(file("empty.txt")).toContainText("It is empty.");
  await expect(file("open.txt")).toContainText("no line break at the end");
  await expect(file("app.txt")).toContainText("deleted");
  await expectNoSeriousFindings(page);
  await look(page, "diff-odd");
});
