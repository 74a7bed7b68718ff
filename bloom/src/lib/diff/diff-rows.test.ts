import { expect, it } from "vitest";
import { parseDiff } from "./parse-diff";
import { anchorOf, blocks, lineCount, sideBySide, unified, type Row } from "./diff-rows";

const [FILE] = parseDiff(`diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,4 +1,4 @@ about
 one
-let two = 2;
-gone
+let two = 3;
 three
+four
`);
const hunks = FILE?.hunks ?? [];
const all = { sections: hunks };
const shown = (row: Row) => ("title" in row ? row.title : `${row.left?.line.text ?? ""}|${row.right?.line.text ?? ""}`);

it("puts what was removed before what was added", () => {
  expect(unified(all).map(shown)).toEqual([
    "about",
    "|one",
    "let two = 2;|",
    "gone|",
    "|let two = 3;",
    "|three",
    "|four",
  ]);
});

it("puts before beside after", () => {
  expect(sideBySide(all).map(shown)).toEqual([
    "about",
    "one|one",
    "let two = 2;|let two = 3;",
    "gone|",
    "three|three",
    "|four",
  ]);
});

it("marks words only where lines belong together", () => {
  const rows = sideBySide(all).filter((row) => !("title" in row));
  expect(rows.map((row) => ("left" in row ? row.left?.words : undefined))).toEqual([
    undefined,
    [[10, 11]],
    undefined,
    undefined,
    undefined,
  ]);
});

it("knows where a comment stands", () => {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  expect(lines.map(anchorOf)).toEqual(["new:1", "old:2", "old:3", "new:2", "new:3", "new:4"]);
});

it("cuts long files into blocks", () => {
  const text = Array.from({ length: 450 }, (_, index) => `+${index}`).join("\n");
  const [long] = parseDiff(`diff --git a/l b/l\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,450 @@\n${text}\n`);
  if (!long) throw new Error("no file");
  expect(lineCount(long)).toBe(450);
  expect(blocks(unified({ sections: long.hunks })).map((block) => block.length)).toEqual([
    ...Array<number>(9).fill(50),
    1,
  ]);
});
