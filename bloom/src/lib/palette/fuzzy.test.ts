import { describe, expect, it } from "vitest";
import { fit } from "./fuzzy";
import { fromCharacters, parts } from "./marks";

const order = (typed: string, ...texts: string[]) =>
  texts
    .flatMap((text) => {
      const found = fit(typed, text);
      return found ? [{ text, score: found.score }] : [];
    })
    .sort((a, b) => b.score - a.score)
    .map((found) => found.text);

describe("fitting", () => {
  it("wants every word, in any order", () => {
    expect(fit("mode dark", "Dark mode")?.marks).toEqual([
      [0, 4],
      [5, 4],
    ]);
    expect(fit("dark light", "Dark mode")).toBeUndefined();
  });

  it("prefers the whole, then the beginning, then a word, then the inside", () => {
    expect(order("land", "Inland", "The land", "Landing", "Land")).toEqual(["Land", "Landing", "The land", "Inland"]);
  });

  it("takes first letters of words", () => {
    expect(fit("nb", "New brief")?.marks).toEqual([
      [0, 1],
      [4, 1],
    ]);
    expect(fit("wb", "New brief")).toBeUndefined();
    expect(order("nb", "New brief", "A knob")).toEqual(["New brief"]);
  });

  it("fits nothing typed to everything", () => {
    expect(fit("  ", "anything")?.marks).toEqual([]);
  });

  it("keeps marks in place where lower case is longer", () => {
    expect(fit("x", "İİ X")?.marks).toEqual([[3, 1]]);
  });

  it("is done soon with long hostile texts", () => {
    expect(fit("aaaaaaaaaaaaaaaaaaaab", "a ".repeat(500_000))).toBeUndefined();
  });
});

describe("marks", () => {
  it("cut a text into what was found and what was not", () => {
    expect(parts("dark mode", [[5, 4]])).toEqual([
      { text: "dark ", found: false },
      { text: "mode", found: true },
    ]);
  });

  it("outside the text are left out", () => {
    expect(parts("abc", [[2, 9]])).toEqual([{ text: "abc", found: false }]);
    expect(fromCharacters("abc", [[7, 1]])).toEqual([]);
  });

  it("of the daemon count an emoji as one", () => {
    expect(fromCharacters("🌷🌷 tulip", [[3, 5]])).toEqual([[5, 5]]);
  });
});
