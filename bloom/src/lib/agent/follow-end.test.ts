import { describe, expect, it } from "vitest";
import { followsEnd, type ScrollState } from "./follow-end";

const at = (offset: number, size = 1_000): ScrollState => ({ offset, viewport: 400, size });

describe("a list that follows its end", () => {
  it("stops when it is scrolled up", () => {
    expect(followsEnd(true, at(600), at(500))).toBe(false);
    expect(followsEnd(true, at(600), at(500, 1_200))).toBe(false);
  });

  it("goes on while entries are added or turn out taller", () => {
    expect(followsEnd(true, at(600), at(600, 1_300))).toBe(true);
    expect(followsEnd(true, at(600), at(700, 1_300))).toBe(true);
  });

  it("goes on when entries turn out shorter", () => {
    expect(followsEnd(true, at(900, 1_400), at(500))).toBe(true);
  });

  it("goes on before the first jump to the end", () => {
    expect(followsEnd(true, undefined, at(0))).toBe(true);
  });
});

describe("a list that was scrolled up", () => {
  it("stays where it is", () => {
    expect(followsEnd(false, at(300), at(350))).toBe(false);
    expect(followsEnd(false, at(300), at(300, 1_300))).toBe(false);
  });

  it("follows again once it is near the end", () => {
    expect(followsEnd(false, at(300), at(565))).toBe(true);
  });
});
