import { describe, expect, it } from "vitest";
import type { InboxItem } from "../api";
import { inboxKey, mostUrgent, inboxHref, newestMessage, inboxSubject } from "./inbox-items";

const item = (over: Partial<InboxItem>): InboxItem => ({
  kind: "question",
  cause: "question_asked",
  tone: "attention",
  title: "Checkout",
  text: "Which tax?",
  by: { type: "agent", name: "play-1" },
  at: "2026-01-01T10:00:00Z",
  next: "",
  ...over,
});

describe("what waits", () => {
  it("has alarms first, messages last, and the oldest first among equals", () => {
    const old = item({ brief: 1, question: 1 });
    const young = item({ brief: 1, question: 2, at: "2026-01-01T11:00:00Z" });
    const alarm = item({ kind: "alarm", at: "2025-01-01T10:00:00Z" });
    const message = item({ kind: "message", at: "2026-02-01T10:00:00Z" });
    expect(mostUrgent([message, young, alarm, old], 6)).toEqual([alarm, old, young, message]);
  });

  it("never hides what is soonest denied", () => {
    const many = (kind: InboxItem["kind"], count: number, over = (_at: number): Partial<InboxItem> => ({})) =>
      Array.from({ length: count }, (_, at) => item({ kind, title: `${kind} ${at}`, ...over(at) }));
    const asked = many("permission", 9, (at) => ({ permission: at, until: `2026-01-01T10:${20 - at}:00Z` }));
    const shown = (...items: InboxItem[]) => mostUrgent(items, 6).map((one) => one.title);
    expect(shown(...many("question", 9), ...asked)).toEqual([8, 7, 6, 5, 4, 3].map((at) => `permission ${at}`));
    expect(shown(...many("alarm", 9), ...asked)).toEqual([
      "alarm 0",
      "alarm 1",
      "alarm 2",
      "permission 8",
      "permission 7",
      "permission 6",
    ]);
  });

  it("is seen as far as it is shown", () => {
    expect(newestMessage([item({ kind: "message", seq: 4 }), item({ kind: "message", seq: 9 }), item({})])).toBe(9);
    expect(newestMessage([item({})])).toBeUndefined();
  });

  it("is told apart, and known again", () => {
    const asked = item({ brief: 1, question: 1 });
    expect(inboxKey(asked)).toBe(inboxKey({ ...asked, text: "Which tax, exactly?" }));
    expect(inboxKey(asked)).not.toBe(inboxKey({ ...asked, question: 2 }));
    expect(inboxKey(item({ kind: "message" }))).not.toBe(
      inboxKey(item({ kind: "message", at: "2026-01-02T10:00:00Z" })),
    );
  });

  it("leads to where more is said", () => {
    expect(inboxHref(item({ brief: 4, question: 1 }))).toBe("/briefs/4");
    expect(inboxHref(item({ kind: "approval", brief: 4, landing: 9 }))).toBe("/landing/9");
    expect(inboxHref(item({ kind: "message" }))).toBe("/agents/play-1");
    expect(inboxHref(item({ kind: "alarm", brief: 4, agent: "a-1" }))).toBe("/agents/a-1");
    expect(inboxSubject(item({ kind: "alarm", project: "shop" })).project).toBe("shop");
  });
});
