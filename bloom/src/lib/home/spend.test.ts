import { describe, expect, it } from "vitest";
import type { AgentView, SpendView } from "../api";
import { spentBy, spentOn } from "./spend";

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
  it("is never said to be nothing when nobody told", () => {
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
  });
});
