import { describe, expect, it } from "vitest";
import type { BriefView, DispatchKind } from "../../api";
import { canBegin, laterConfirmation, pastOf, startConfirmation, wants, type Rule } from "./agent-starts";

const NEVER = { designed: false, dispatched: false };
const rule = (more: Partial<Rule>): Rule => ({
  kind: "feature",
  status: "planned",
  auto_dispatch: false,
  design_loop: false,
  ...more,
});
const brief = { number: 4, title: "A cart", kind: "feature", projects: [{ name: "shop", primary: true }] } as BriefView;
const asks = { title: "Turn it on?", verb: "Turn it on" };

describe("what flower starts by itself", () => {
  it("is nothing without an option", () => {
    expect(wants(rule({}), NEVER)).toBeUndefined();
    expect(wants(rule({ status: "draft", auto_dispatch: true }), NEVER)).toBeUndefined();
    expect(wants(rule({ design_loop: true }), NEVER)).toBeUndefined();
  });

  it("is the natural work of a planned brief, once", () => {
    expect(wants(rule({ auto_dispatch: true }), NEVER)).toBe("build");
    expect(wants(rule({ auto_dispatch: true, kind: "note" }), NEVER)).toBe("research");
    expect(wants(rule({ auto_dispatch: true, kind: "incident" }), NEVER)).toBe("ops");
    expect(wants(rule({ auto_dispatch: true }), { designed: false, dispatched: true })).toBeUndefined();
    expect(wants(rule({ auto_dispatch: true, kind: "epic" }), NEVER)).toBeUndefined();
    expect(wants(rule({ auto_dispatch: true, status: "in_progress" }), NEVER)).toBeUndefined();
  });

  it("is a design first, and the work after it", () => {
    const both = { auto_dispatch: true, design_loop: true };
    expect(wants(rule({ ...both, status: "draft" }), NEVER)).toBe("design");
    expect(wants(rule({ ...both, status: "draft" }), { designed: true, dispatched: false })).toBeUndefined();
    expect(wants(rule({ design_loop: true }), { designed: true, dispatched: false })).toBe("build");
  });

  it("depends on what was dispatched before", () => {
    const past = (...kinds: DispatchKind[]) => pastOf(kinds.map((kind) => ({ kind })));
    expect(past()).toEqual(NEVER);
    expect(past("design")).toEqual({ designed: true, dispatched: false });
    expect(past("build", "design")).toEqual({ designed: true, dispatched: true });
    expect(canBegin(rule({}), past("design"))).toBe(true);
    expect(canBegin(rule({}), past("build"))).toBe(false);
    expect(canBegin(rule({ status: "landed" }), NEVER)).toBe(false);
  });
});

describe("the question", () => {
  it("names the agent and the brief, and so does its button", () => {
    const { paragraphs, verb, list } = startConfirmation(brief, "build", asks, []);
    expect(paragraphs[0]).toBe("The default agent of shop starts at once to build #4 “A cart”.");
    expect(verb).toBe("Turn it on and start a build agent");
    expect(list).toBeUndefined();
  });

  it("says what is in the way", () => {
    const { paragraphs, verb, list } = startConfirmation(brief, "build", asks, ["it needs brief 1, which is draft"]);
    expect(paragraphs[0]).toContain("once this is settled");
    expect(list).toEqual(["it needs brief 1, which is draft"]);
    expect(verb).toBe("Turn it on");
  });

  it("says what starts later, for each option", () => {
    expect(laterConfirmation(brief, "auto_dispatch", asks).paragraphs[0]).toMatch(
      /^As soon as its plan is accepted .* #4 “A cart”/,
    );
    expect(laterConfirmation(brief, "design_loop", asks).paragraphs[0]).toMatch(
      /accept that design, the default agent of shop starts/,
    );
  });
});
