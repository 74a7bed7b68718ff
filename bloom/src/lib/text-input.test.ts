import { expect, it } from "vitest";
import { byteLength, unsentText } from "./text-input";

it("keeps what was typed while a text was sent", () => {
  expect(unsentText("Green", "Green")).toBe("");
  expect(unsentText("Green, or blue", "Green")).toBe(", or blue");
  expect(unsentText("Green\n\nAnd the door?", "Green")).toBe("And the door?");
  expect(unsentText("Dark green", "Green")).toBe("Dark green");
});

it("counts bytes, not characters", () => {
  expect(byteLength("abc")).toBe(3);
  expect(byteLength("grün 🌷")).toBe(10);
});
