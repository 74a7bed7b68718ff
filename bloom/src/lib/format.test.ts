import { describe, expect, test } from "vitest";
import { timeAgo, count, denialCountdown, money, duration, compactNumber } from "./format";

describe("time", () => {
  test("is said in one unit, and never in the future", () => {
    const now = 1_000_000_000_000;
    expect(timeAgo(now - 3 * 3_600_000, now)).toBe("3h ago");
    expect(timeAgo(now - 9_000, now)).toBe("now");
    expect(timeAgo(now + 60_000, now)).toBe("now");
    expect(timeAgo(now - 45_000, now)).toBe("45s ago");
    expect(duration(40 * 86_400)).toBe("1mo");
  });

  test("until something is denied is counted down, louder towards the end", () => {
    const now = Date.parse("2026-11-16T12:00:00Z");
    const after = (seconds: number) => denialCountdown(new Date(now + seconds * 1_000).toISOString(), now);
    expect([7_300, 605, 119, 59, 9].map(after)).toEqual([
      { words: "denied in 2h", soon: false },
      { words: "denied in 10m 05s", soon: false },
      { words: "denied in 1m 59s", soon: true },
      { words: "denied in 59s", soon: true },
      { words: "denied in 9s", soon: true },
    ]);
    expect([0, -60].map((seconds) => after(seconds).words)).toEqual(["is being denied", "is being denied"]);
    expect(denialCountdown("nonsense", now).words).toBe("is being denied");
  });
});

describe("numbers", () => {
  test("are short", () => {
    expect([999, 1_000, 1_250, 12_340, 999_999, 2_100_000].map(compactNumber)).toEqual([
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

  test("that were not reported are unknown, not zero", () => {
    expect(money(null, null)).toBe("unknown");
    expect(money(0, "USD")).toBe("$0.00");
    expect(money(12.3, "EUR")).toBe("12 EUR");
  });
});
