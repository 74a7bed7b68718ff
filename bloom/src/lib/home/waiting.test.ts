import { describe, expect, it } from "vitest";
import type { InboxItem } from "../api";
import { keyOf, placeOf, subjectOf, urgentFirst } from "./waiting";

const item = (over: Partial<InboxItem>): InboxItem => ({
  kind: "question",
  title: "Checkout",
  text: "Which tax?",
  by: { type: "agent", name: "play-1" },
  at: "2026-01-01T10:00:00Z",
  next: "",
  ...over,
});

describe("what waits", () => {
  it("has alarms first, messages last, and the newest first among equals", () => {
    const old = item({ brief: 1, question: 1 });
    const young = item({ brief: 1, question: 2, at: "2026-01-01T11:00:00Z" });
    const alarm = item({ kind: "alarm", at: "2025-01-01T10:00:00Z" });
    const message = item({ kind: "message", at: "2026-02-01T10:00:00Z" });
    expect(urgentFirst([message, old, alarm, young])).toEqual([alarm, young, old, message]);
  });

  it("is told apart, and known again", () => {
    const asked = item({ brief: 1, question: 1 });
    expect(keyOf(asked)).toBe(keyOf({ ...asked, text: "Which tax, exactly?" }));
    expect(keyOf(asked)).not.toBe(keyOf({ ...asked, question: 2 }));
    expect(keyOf(item({ kind: "message" }))).not.toBe(keyOf(item({ kind: "message", at: "2026-01-02T10:00:00Z" })));
  });

  it("leads to where more is said", () => {
    expect(placeOf(item({ brief: 4, question: 1 }))).toBe("/briefs/4");
    expect(placeOf(item({ kind: "approval", brief: 4, landing: 9 }))).toBe("/landing/9");
    expect(placeOf(item({ kind: "message" }))).toBe("/agents/play-1");
    expect(placeOf(item({ kind: "alarm", brief: 4, agent: "a-1" }))).toBe("/agents/a-1");
    expect(subjectOf(item({ kind: "alarm", project: "shop" })).project).toBe("shop");
  });
});
