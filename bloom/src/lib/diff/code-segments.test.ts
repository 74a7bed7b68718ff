import { expect, it } from "vitest";
import { segments } from "./code-segments";

it("cuts a line where words changed", () => {
  expect(segments("let a = 1;", [[8, 9]])).toEqual([
    { text: "let a = ", changed: false },
    { text: "1", changed: true },
    { text: ";", changed: false },
  ]);
});

it("cuts colours and changed words, wherever they overlap", () => {
  const colours: [number, number, string][] = [
    [0, 3, "keyword"],
    [8, 13, "string"],
  ];
  expect(segments('let a = "xyz";', [[4, 10]], colours)).toEqual([
    { text: "let", changed: false, what: "keyword" },
    { text: " ", changed: false },
    { text: "a = ", changed: true },
    { text: '"x', changed: true, what: "string" },
    { text: 'yz"', changed: false, what: "string" },
    { text: ";", changed: false },
  ]);
});

it("makes hidden characters and line ends of elsewhere visible", () => {
  expect(segments("if\u202E x\r").map((piece) => [piece.text, piece.why !== undefined])).toEqual([
    ["if", false],
    ["U+202E", true],
    [" x", false],
    ["CR", true],
  ]);
  expect(segments("")).toEqual([]);
});

it("keeps what is hidden marked in the middle of a colour, and a word of two alphabets whole", () => {
  // The tag character takes two places in the line.
  const text = 'a "\u{E0041}b" аdmin';
  const shown = segments(
    text,
    [],
    [
      [2, 7, "string"],
      [8, 9, "value"],
      [9, 13, "keyword"],
    ],
  );
  expect(shown.map((piece) => [piece.text, piece.what ?? piece.why])).toEqual([
    ["a ", undefined],
    ['"', "string"],
    ["U+E0041", "tag character"],
    ['b"', "string"],
    [" ", undefined],
    ["аdmin", "letters of two alphabets in one word"],
  ]);
});
