import { expect, it } from "vitest";
import { changedWords } from "./changed-words";

const marked = (text: string, ranges: [number, number][]) => ranges.map(([from, to]) => text.slice(from, to));

it("marks the words that differ", () => {
  const [before, after] = ["let total = price * 2;", "let total = price * count;"];
  const [old, fresh] = changedWords(before, after) ?? [[], []];
  expect(marked(before, old)).toEqual(["2"]);
  expect(marked(after, fresh)).toEqual(["count"]);
});

it("marks several places, and what was only added", () => {
  const [before, after] = ["f(a, b)", "f(a, x, b, y)"];
  const [old, fresh] = changedWords(before, after) ?? [[], []];
  expect(old).toEqual([]);
  expect(marked(after, fresh).join("")).toContain("x");
  expect(marked(after, fresh).join("")).toContain("y");
});

it("joins changes that only a space separates", () => {
  const [before, after] = ["return one two done;", "return three four done;"];
  const [old] = changedWords(before, after) ?? [[], []];
  expect(marked(before, old)).toEqual(["one two"]);
});

it("leaves lines alone that have nothing in common, are the same, or are endless", () => {
  expect(changedWords("alpha beta gamma", "one(two)[three]")).toBeUndefined();
  expect(changedWords("same", "same")).toBeUndefined();
  expect(changedWords("x".repeat(5_000), "x".repeat(5_001))).toBeUndefined();
});
