import { describe, expect, it } from "vitest";
import type { BriefView, LinkView, Status } from "../../api";
import { acceptable, statusMoves } from "./status-moves";

function brief(status: Status, more: Partial<BriefView> = {}): BriefView {
  const dispatchable = { ok: true, reasons: [], kind: "build", kinds: {} };
  return { status, dispatchable, links: [], spec: { version: 0, markdown: "" }, ...more } as unknown as BriefView;
}

describe("moves", () => {
  it("never offers `landed`, and nothing from what is final", () => {
    const all: Status[] = ["draft", "planned", "in_progress", "in_review", "landed", "done", "parked", "cancelled"];
    for (const status of all) expect(statusMoves(brief(status)).some((move) => move.to === "landed")).toBe(false);
    for (const status of ["landed", "done", "cancelled"] as Status[]) expect(statusMoves(brief(status))).toEqual([]);
  });

  it("takes a parked brief up where it was", () => {
    expect(statusMoves(brief("parked", { parked_from: "in_progress" }))[0]?.to).toBe("in_progress");
  });

  it("offers `done` for what changed no code, and asks for a reason before a change that needs one", () => {
    const link: LinkView = { kind: "commit", target: "abc", label: "", by: "", at: "" };
    const to = (more: Partial<BriefView>) => statusMoves(brief("in_review", more)).map((move) => move.to);
    expect(to({})).toEqual(["done", "in_progress", "parked", "cancelled"]);
    expect(to({ links: [link] })).toEqual(["in_progress", "parked", "cancelled"]);
    expect(statusMoves(brief("in_review")).every((move) => move.sure)).toBe(true);
  });

  it("asks before it is taken up where flower may start an agent by itself, and says so", () => {
    const up = (more: Partial<BriefView>) => statusMoves(brief("parked", more))[0];
    expect(up({ parked_from: "in_progress" })).toMatchObject({ sure: "Resume it" });
    expect(up({ parked_from: "in_progress" })?.starts).toContain("rejected or reverted");
    expect(up({ parked_from: "planned", auto_dispatch: true })?.sure).toContain("start an agent");
    expect(up({ parked_from: "planned" })?.sure).toBeUndefined();
    expect(up({ parked_from: "in_review", auto_dispatch: true })?.sure).toBeUndefined();
    for (const status of ["planned", "in_review"] as Status[]) {
      const back = statusMoves(brief(status)).find((move) => move.to === "in_progress");
      expect(back?.sure && back.starts).toBeTruthy();
    }
  });

  it("have keys of their own", () => {
    for (const status of ["draft", "planned", "in_progress", "in_review", "parked"] as Status[]) {
      const keys = statusMoves(brief(status)).map((move) => move.key);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });
});

describe("acceptable", () => {
  const spec = (version: number, accepted_version: number | null) => ({ version, markdown: "x", accepted_version });
  it("is a plan, a refinement or a result", () => {
    expect(acceptable(brief("draft"))).toBeUndefined();
    expect(acceptable(brief("draft", { spec: spec(1, null) }))?.what).toBe("plan");
    expect(acceptable(brief("planned", { spec: spec(1, 1) }))).toBeUndefined();
    expect(acceptable(brief("in_progress", { spec: spec(3, 1) }))?.what).toBe("refinement");
    expect(acceptable(brief("in_review", { spec: spec(1, 1) }))?.what).toBe("result");
  });

  it("is not the result when there are commits: they land", () => {
    const link: LinkView = { kind: "commit", target: "abc", label: "", by: "", at: "" };
    expect(acceptable(brief("in_review", { spec: spec(1, 1), links: [link] }))).toBeUndefined();
  });
});
