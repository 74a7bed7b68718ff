import { describe, expect, it } from "vitest";
import type { DispatchView } from "../api";
import { startedByThaw, thawConfirmation } from "./thaw-main";

const waiting = (id: number, ...codes: string[]): DispatchView =>
  ({
    id,
    brief: id,
    title: `Brief ${id}`,
    kind: "build",
    state: "requested",
    agent: id === 1 ? "play" : null,
    waits: codes.map((code) => ({ code, message: code })),
  }) as DispatchView;

describe("a thaw", () => {
  it("starts what waits for nothing else", () => {
    const all = [waiting(1, "main_frozen"), waiting(2, "no_agent", "main_frozen"), waiting(3, "no_slot")];
    expect(startedByThaw([...all, { ...waiting(4, "main_frozen"), state: "executing" }]).map((one) => one.id)).toEqual([
      1,
    ]);
  });

  it("names what it starts, and counts the rest", () => {
    const one = thawConfirmation("shop", [waiting(1)]);
    expect(one.title).toBe("Thaw MAIN of shop and start 1 agent?");
    expect(one.list).toEqual(["#1 Brief 1: build by play"]);
    const many = thawConfirmation(
      "shop",
      Array.from({ length: 10 }, (_, at) => waiting(at + 1)),
    );
    expect(many.verb).toBe("Thaw and start 10 agents");
    expect(many.list?.slice(-2)).toEqual(["#8 Brief 8: build by the default agent", "and 2 more"]);
  });
});
