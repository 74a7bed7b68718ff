import { describe, expect, it } from "vitest";
import type { InboxItem } from "../api";
import { inboxGroups, notificationText } from "./inbox-groups";

const item = (kind: InboxItem["kind"], at: string, more: Partial<InboxItem> = {}): InboxItem => ({
  kind,
  cause: "question_asked",
  tone: "attention",
  title: "Dark mode",
  text: "Which grey?",
  by: { type: "agent", name: "play-1" },
  at,
  next: "",
  ...more,
});

describe("groups", () => {
  it("put alarms first, and the oldest first in each", () => {
    const groups = inboxGroups([
      item("question", "4"),
      item("message", "2"),
      item("alarm", "3"),
      item("question", "1"),
    ]);
    expect(groups.map((group) => [group.title, group.items.map((each) => each.at)])).toEqual([
      ["Alarms", ["3"]],
      ["Questions", ["1", "4"]],
      ["Messages", ["2"]],
    ]);
  });

  it("keep what they do not know", () => {
    expect(inboxGroups([item("riddle" as InboxItem["kind"], "1")])[0]?.title).toBe("riddle");
  });
});

describe("a notification", () => {
  it("says who asks what", () => {
    expect(notificationText(item("question", "1"))).toEqual({ title: "play-1 asks", body: "Dark mode\nWhich grey?" });
    expect(notificationText(item("alarm", "1", { title: "MAIN of shop" })).title).toBe("MAIN of shop: Alarm");
  });

  it("stays short, and cuts no character in two", () => {
    const body = notificationText(item("message", "1", { text: "🌷".repeat(100_000) })).body;
    expect([...body]).toHaveLength(201);
    expect(body).not.toContain("\uFFFD");
  });
});
