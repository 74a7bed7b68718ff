import { expect, it } from "vitest";
import { specDiffLines } from "./spec-diff";

it("numbers lines on both sides, and leaves out the header", () => {
  const diff =
    "--- version 1\n+++ version 2\n@@ -1,3 +1,3 @@\n one\n-two\n+deux\n three\n\\ No newline at end of file\n";
  expect(specDiffLines(diff)).toEqual([
    { sort: "place", text: "line 1" },
    { sort: "same", text: "one", old: 1, now: 1 },
    { sort: "removed", text: "two", old: 2 },
    { sort: "added", text: "deux", now: 2 },
    { sort: "same", text: "three", old: 3, now: 3 },
  ]);
});

it("takes lines that look like a header for what they are", () => {
  expect(specDiffLines("--- a\n+++ b\n@@ -1 +1 @@\n--- x\n+++ y\n").map((line) => [line.sort, line.text])).toEqual([
    ["place", "line 1"],
    ["removed", "-- x"],
    ["added", "++ y"],
  ]);
});

it("is empty for equal texts", () => expect(specDiffLines("")).toEqual([]));
