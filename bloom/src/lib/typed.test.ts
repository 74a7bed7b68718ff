import { expect, it } from "vitest";
import { bytes, rest } from "./typed";

it("keeps what was typed while a text was sent", () => {
  expect(rest("Green", "Green")).toBe("");
  expect(rest("Green, or blue", "Green")).toBe(", or blue");
  expect(rest("Green\n\nAnd the door?", "Green")).toBe("And the door?");
  expect(rest("Dark green", "Green")).toBe("Dark green");
});

it("counts bytes, not characters", () => {
  expect(bytes("abc")).toBe(3);
  expect(bytes("grün 🌷")).toBe(10);
});
