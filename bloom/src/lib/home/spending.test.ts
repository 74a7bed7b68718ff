import { describe, expect, it } from "vitest";
import type { AgentView, BriefView, SpendView } from "../api";
import { spent, spentBy, spentFor, spentOn } from "./spending";

const agent = (cost: number | null) => ({ cost, currency: "USD" }) as AgentView;
const spending: SpendView = {
  days: [
    { of: "2026-01-02", cost: 1.5, currency: "USD", tokens: 10 },
    { of: "2026-01-01", tokens: 12_000 },
  ],
  briefs: [],
  per_day: 20,
};

describe("spend", () => {
  it("is unknown, not nothing, when no agent reported it", () => {
    expect(spentBy([agent(null)])).toBe("unknown");
    expect(spentBy([])).toBe("");
  });
  it("says when some of it is unknown", () => {
    expect(spentBy([agent(1), agent(0.5)])).toBe("$1.50");
    expect(spentBy([agent(1), agent(null)])).toBe("$1.00 +");
  });
  it("is told per day, with its limit", () => {
    expect(spentOn(spending, "2026-01-02")).toBe("$1.50 of $20");
    expect(spentOn(spending, "2026-01-01")).toBe("12k tokens");
    expect(spentOn(spending, "2025-12-31")).toBe("nothing");
    expect(spent(spending.days[1]!)).toBe("12k tokens · cost unknown");
  });
  it("is told of a brief, and unknown where agents worked and none told", () => {
    const brief = (number: number, ...types: string[]) =>
      ({ number, participants: types.map((type) => ({ type })) }) as unknown as BriefView;
    const told = { ...spending, briefs: [{ of: "3", cost: 0.5, currency: "USD", tokens: 900 }] };
    expect(spentFor(told, brief(3, "agent"))).toBe("900 tokens · $0.50");
    expect(spentFor(told, brief(4, "agent", "operator"))).toBe("unknown");
    expect(spentFor(told, brief(5, "operator"))).toBeUndefined();
    const silent = { ...spending, briefs: [{ of: "4", cost: null, currency: null, tokens: null }] };
    expect(spentFor(silent, brief(4, "agent"))).toBe("unknown");
    expect(spentFor(silent, brief(4, "operator"))).toBeUndefined();
  });
});
