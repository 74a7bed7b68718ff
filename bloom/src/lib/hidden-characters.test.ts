import { expect, test } from "vitest";
import { splitHiddenInCode, splitHidden } from "./hidden-characters";

const marks = (found: { text: string; why?: string }[]) =>
  found.filter((piece) => piece.why).map((piece) => piece.text);

test("what cannot be seen is named", () => {
  expect(marks(splitHidden("if (admin\u202E) {\u200B"))).toEqual(["U+202E", "U+200B"]);
  expect(marks(splitHidden("hello \u{E0041}"))).toEqual(["U+E0041"]);
  expect(splitHidden("plain")).toEqual([{ text: "plain" }]);
});

test("an emoji of several parts stays whole", () => {
  expect(splitHidden("👩‍🚀")).toEqual([{ text: "👩‍🚀" }]);
});

test("a word of two alphabets is marked in code", () => {
  expect(marks(splitHiddenInCode("let p\u0430ypal = 1; // привет"))).toEqual(["p\u0430ypal"]);
});
