import { describe, expect, it } from "vitest";
import { parseDiff, type Line } from "./parse-diff";
import { contextLines, gaps, expandChoices, expandLines, wholeFile } from "./expand-lines";

/** A hundred lines: 30 is gone, 31 changed, and two came after 70. */
const OLD = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`);
const NEW = [...OLD.slice(0, 29), "changed", ...OLD.slice(31, 70), "new a", "new b", ...OLD.slice(70)];
const [FILE] = parseDiff(`diff --git a/f b/f
index 1a2b..3c4d 100644
--- a/f
+++ b/f
@@ -27,8 +27,7 @@ first
 line 27
 line 28
 line 29
-line 30
-line 31
+changed
 line 32
 line 33
 line 34
@@ -68,6 +67,8 @@ second
 line 68
 line 69
 line 70
+new a
+new b
 line 71
 line 72
 line 73
`);
const hunks = FILE?.hunks ?? [];
const text = `${NEW.join("\n")}\n`;
const between = contextLines(hunks, text) ?? [];
const numbers = (lines: Line[]) => lines.map((line) => `${line.old ?? ""}:${line.new ?? ""}`);
const ends = (lines: Line[]) => [lines[0]?.text, lines.at(-1)?.text];

describe("gaps", () => {
  it("are before, between and after the hunks", () => {
    expect(FILE?.contents).toBe("1a2b..3c4d");
    expect(gaps(hunks)).toEqual([{ from: 1, to: 26 }, { from: 34, to: 66 }, { from: 75 }]);
  });

  it("are not where the file begins or ends", () => {
    const [short] = parseDiff("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n+zero\n one\n two\n three\n");
    expect(gaps(short?.hunks ?? [])).toEqual([undefined, { from: 5 }]);
    const [ended] = parseDiff("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n one\n+half\n two\n");
    expect(gaps(ended?.hunks ?? [])).toEqual([undefined, undefined]);
    const [emptied] = parseDiff("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +0,0 @@\n-one\n-two\n");
    expect(gaps(emptied?.hunks ?? [])).toEqual([undefined, undefined]);
  });
});

describe("what stands around", () => {
  it("has the numbers of both sides", () => {
    expect(between.map(ends)).toEqual([
      ["line 1", "line 26"],
      ["line 35", "line 67"],
      ["line 74", "line 100"],
    ]);
    expect(between.map((lines) => numbers(lines)[0])).toEqual(["1:1", "35:34", "74:75"]);
  });

  it("is nothing if the file is another one", () => {
    expect(contextLines(hunks, text.replace("changed", "changed again"))).toBeUndefined();
    expect(contextLines(hunks, `one more\n${text}`)).toBeUndefined();
  });

  it("says where the file ends without a line break", () => {
    expect(contextLines(hunks, text.trimEnd())?.at(-1)?.at(-1)?.open).toBe(true);
    expect(between.at(-1)?.at(-1)?.open).toBeUndefined();
  });

  it("makes the whole file, with what is gone", () => {
    const all = wholeFile(hunks, between).lines;
    expect(all.filter((line) => line.kind !== "added").map((line) => line.text)).toEqual(OLD);
    expect(all.filter((line) => line.kind !== "removed").map((line) => line.text)).toEqual(NEW);
  });
});

describe("unfolding", () => {
  const shown = (...wanted: [number, number][]) => {
    const { sections, rest } = expandLines(hunks, between, wanted);
    return { sections: sections.map((one) => [one.about, one.gap, ...ends(one.lines)]), rest };
  };

  it("shows the hunks alone at first, whether the file was read or not", () => {
    expect(expandLines(hunks).sections.map((one) => one.lines)).toEqual(hunks.map((hunk) => hunk.lines));
    expect(expandLines(hunks).rest).toEqual({ from: 75 });
    expect(shown()).toEqual({
      sections: [
        ["first", { from: 1, to: 26 }, "line 27", "line 34"],
        ["second", { from: 34, to: 66 }, "line 68", "line 73"],
      ],
      rest: { from: 75, to: 101 },
    });
    expect(hunks[0]?.lines).toHaveLength(9);
  });

  it("goes on below and leads up", () => {
    expect(shown([34, 53], [7, 26])).toEqual({
      sections: [
        ["", { from: 1, to: 6 }, "line 7", "line 54"],
        ["second", { from: 54, to: 66 }, "line 68", "line 73"],
      ],
      rest: { from: 75, to: 101 },
    });
  });

  it("makes one of what meets, to the end", () => {
    expect(shown([1, Infinity])).toEqual({ sections: [["", undefined, "line 1", "line 100"]], rest: undefined });
  });

  it("can show what touches no hunk", () => {
    expect(shown([80, 82]).sections.at(-1)).toEqual(["", { from: 75, to: 79 }, "line 79", "line 81"]);
    expect(shown([80, 82]).rest).toEqual({ from: 83, to: 101 });
  });
});

it("offers only what there is", () => {
  const all = (...args: Parameters<typeof expandChoices>) =>
    expandChoices(...args).map(({ what, lines }) => [what, ...lines]);
  expect(all({ from: 1, to: 26 }, true, false)).toEqual([
    ["above", 7, 26],
    ["all", 1, 26],
  ]);
  expect(all({ from: 34, to: 66 }, false, false)).toEqual([
    ["below", 34, 53],
    ["above", 47, 66],
    ["all", 34, 66],
  ]);
  expect(all({ from: 75 }, false, true)).toEqual([
    ["below", 75, 94],
    ["all", 75, Infinity],
  ]);
  expect(all({ from: 5, to: 24 }, false, false)).toEqual([["all", 5, 24]]);
});
