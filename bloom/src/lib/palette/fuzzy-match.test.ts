import { describe, expect, it } from "vitest";
import { fuzzyMatch } from "./fuzzy-match";
import { marksFromCharacters, splitMarks } from "./highlight";

const order = (typed: string, ...texts: string[]) =>
  texts
    .flatMap((text) => {
      const found = fuzzyMatch(typed, text);
      return found ? [{ text, score: found.score }] : [];
    })
    .sort((a, b) => b.score - a.score)
    .map((found) => found.text);

describe("fitting", () => {
  it("wants every word, in any order", () => {
    expect(fuzzyMatch("mode dark", "Dark mode")?.marks).toEqual([
      [0, 4],
      [5, 4],
    ]);
    expect(fuzzyMatch("dark light", "Dark mode")).toBeUndefined();
  });

  it("prefers the whole, then the beginning, then a word, then the inside", () => {
    expect(order("land", "Inland", "The land", "Landing", "Land")).toEqual(["Land", "Landing", "The land", "Inland"]);
  });

  it("takes first letters of words", () => {
    expect(fuzzyMatch("nb", "New brief")?.marks).toEqual([
      [0, 1],
      [4, 1],
    ]);
    expect(fuzzyMatch("wb", "New brief")).toBeUndefined();
    expect(order("nb", "New brief", "A knob")).toEqual(["New brief"]);
  });

  it("fits nothing typed to everything", () => {
    expect(fuzzyMatch("  ", "anything")?.marks).toEqual([]);
  });

  it("keeps marks in place where lower case is longer", () => {
    expect(fuzzyMatch("x", "İİ X")?.marks).toEqual([[3, 1]]);
  });

  it("is done soon with long hostile texts", () => {
    expect(fuzzyMatch("aaaaaaaaaaaaaaaaaaaab", "a ".repeat(500_000))).toBeUndefined();
  });
});

describe("marks", () => {
  it("cut a text into what was found and what was not", () => {
    expect(splitMarks("dark mode", [[5, 4]])).toEqual([
      { text: "dark ", found: false },
      { text: "mode", found: true },
    ]);
  });

  it("outside the text are left out", () => {
    expect(splitMarks("abc", [[2, 9]])).toEqual([{ text: "abc", found: false }]);
    expect(marksFromCharacters("abc", [[7, 1]])).toEqual([]);
  });

  it("of the daemon count an emoji as one", () => {
    expect(marksFromCharacters("🌷🌷 tulip", [[3, 5]])).toEqual([[5, 5]]);
  });
});
