import { describe, expect, it } from "vitest";
import type { EventView, Topic } from "../api";
import { actorsOf, byDay, dayOf, fromAddress, groupOf, isPast, keeps, isFiltered, toAddress } from "./trace-filter";

const event = (seq: number, kind: string, body: object = {}, more: object = {}): EventView => ({
  seq,
  at: `2026-01-0${(seq % 9) + 1}T10:00:00Z`,
  kind,
  actor: { type: "agent", name: "play-1" },
  door: "mcp",
  brief: null,
  body: body as EventView["body"],
  hash: "h",
  prev: "p",
  stream: "s",
  version: 1,
  schema: 1,
  ...more,
});
const filter = (address: string) => fromAddress(new URLSearchParams(address));

describe("filters", () => {
  it("are the same there and back, and forget nonsense", () => {
    const address = "?group=agents&actor=agent%2Fplay-1&door=mcp&day=2026-01-31&brief=4&project=*&q=red";
    expect(toAddress(filter(address))).toBe(address);
    expect(toAddress(filter("?group=x&brief=-1&door=window&day=yesterday"))).toBe("");
  });

  it("put every kind somewhere", () => {
    const about = (kind: string, ...topics: Topic[]) => groupOf(event(1, kind, {}, { topics }));
    expect(about("landed", "landings", "main", "briefs")).toBe("landings");
    expect(about("question_asked", "questions", "inbox")).toBe("talk");
    expect(about("comment_added", "briefs")).toBe("talk");
    expect(about("status_changed", "briefs", "inbox")).toBe("briefs");
    // An event that the daemon does not know changes all topics.
    expect(about("moon_rose", "agents", "briefs", "log")).toBe("other");
    expect(about("moon_rose")).toBe("other");
  });

  it("keep what fits all of them", () => {
    const asked = event(1, "question_asked", { text: "Which grey?" }, { said: "1: Which grey?" });
    expect(keeps(filter("?group=talk&actor=agent/play-1&q=grey+which"))(asked)).toBe(true);
    expect(keeps(filter("?actor=agent/"))(asked)).toBe(true);
    expect(keeps(filter("?actor=agent/play-2"))(asked)).toBe(false);
    expect(keeps(filter("?actor=operator/"))(asked)).toBe(false);
    expect(keeps(filter("?q=blue"))(asked)).toBe(false);
    expect(keeps(filter("?door=mcp"))(asked)).toBe(true);
    expect(keeps(filter("?door=web"))(asked)).toBe(false);
    const day = dayOf(asked);
    expect(keeps(filter(`?day=${day}`))(asked)).toBe(true);
    expect(keeps(filter("?day=2025-12-31"))(asked)).toBe(false);
    expect(isPast(filter(`?day=${day}`), asked)).toBe(false);
    expect(isPast(filter("?day=2026-06-01"), asked)).toBe(true);
  });

  it("of a brief alone sift nothing", () => {
    expect(isFiltered(filter("?brief=3&project=web"))).toBe(false);
    expect(isFiltered(filter("?brief=3&q=x"))).toBe(true);
  });

  it("know who acted", () => {
    const events = [event(1, "a"), event(2, "a", {}, { actor: { type: "operator", name: "mike" } }), event(3, "a")];
    expect(actorsOf(events)).toEqual([
      { type: "operator", names: ["mike"] },
      { type: "agent", names: ["play-1"] },
    ]);
  });
});

describe("days", () => {
  it("stand above their events", () => {
    const lines = byDay([event(2, "a"), event(11, "b"), event(1, "c")], ({ at }) => at.slice(0, 10));
    expect(lines.map((line) => ("day" in line ? line.day : line.event.seq))).toEqual([
      "2026-01-03",
      2,
      11,
      "2026-01-02",
      1,
    ]);
  });
});
