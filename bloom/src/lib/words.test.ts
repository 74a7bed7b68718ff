import { describe, expect, test } from "vitest";
import { ago, count, left, money, span, thousands } from "./words";

describe("time", () => {
  test("is said in one unit, and never in the future", () => {
    const now = 1_000_000_000_000;
    expect(ago(now - 3 * 3_600_000, now)).toBe("3h ago");
    expect(ago(now - 9_000, now)).toBe("now");
    expect(ago(now + 60_000, now)).toBe("now");
    expect(ago(now - 45_000, now)).toBe("45s ago");
    expect(span(40 * 86_400)).toBe("1mo");
  });

  test("that is left is said in one unit, down to the last second", () => {
    const now = 1_000_000_000_000;
    expect([4.9 * 60, 60, 58.2, 0.1, 2 * 3_600, 50 * 3_600].map((seconds) => left(now + seconds * 1_000, now))).toEqual(
      ["4 min left", "1 min left", "59 s left", "1 s left", "2 h left", "2 d left"],
    );
    expect(left(now - 5_000, now)).toBe("time is up");
  });
});

describe("numbers", () => {
  test("are short", () => {
    expect([999, 1_000, 1_250, 12_340, 999_999, 2_100_000].map(thousands)).toEqual([
      "999",
      "1k",
      "1.3k",
      "12k",
      "1000k",
      "2.1M",
    ]);
    expect([count(1, "brief"), count(0, "brief"), count(2, "child", "children")]).toEqual([
      "1 brief",
      "0 briefs",
      "2 children",
    ]);
  });

  test("that nobody told are unknown, not zero", () => {
    expect(money(null, null)).toBe("unknown");
    expect(money(0, "USD")).toBe("$0.00");
    expect(money(12.3, "EUR")).toBe("12 EUR");
  });
});
