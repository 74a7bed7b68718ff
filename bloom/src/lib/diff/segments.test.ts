import { expect, it } from "vitest";
import { segments } from "./segments";

it("cuts a line where words changed", () => {
  expect(segments("let a = 1;", [[8, 9]])).toEqual([
    { text: "let a = ", changed: false },
    { text: "1", changed: true },
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
