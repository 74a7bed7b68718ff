import { expect, it } from "vitest";
import { lineDiff } from "./line-diff";

const signs = (before: string, after: string) =>
  lineDiff(before, after).map((hunk) =>
    hunk.lines.map((line) => ({ same: " ", added: "+", removed: "-" })[line.kind] + line.text),
  );

it("finds what changed", () => {
  expect(signs("one\ntwo\nthree\n", "one\n2\nthree\n")).toEqual([[" one", "-two", "+2", " three"]]);
});

it("knows new and emptied files", () => {
  expect(signs("", "a\nb\n")).toEqual([["+a", "+b"]]);
  expect(signs("a\n", "")).toEqual([["-a"]]);
  expect(signs("same\n", "same\n")).toEqual([]);
});

it("leaves out what is far from every change, and joins what is near", () => {
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);
  const changed = lines.map((line, index) => ([5, 7, 30].includes(index) ? `${line}!` : line));
  const hunks = lineDiff(lines.join("\n"), changed.join("\n"));
  expect(hunks.map((hunk) => [hunk.old, hunk.lines.length])).toEqual([
    [3, 11],
    [28, 8],
  ]);
});

it("does not take long for long files", () => {
  const text = (mark: string) => Array.from({ length: 20_000 }, (_, index) => `${mark} ${index}`).join("\n");
  expect(lineDiff(text("a"), text("b"))[0]?.lines.length).toBe(40_000);
});
