import { describe, expect, it } from "vitest";
import type { EventView } from "./api";
import { any, topics, type StateTopic, type Update } from "./updates";

const update = (...events: StateTopic[][]): Update => ({
  events: events.map((changed) => ({ topics: changed }) as EventView),
  topics: ["agents", "agent:play-1"],
  all: false,
});

describe("a concern", () => {
  it("is a topic of an event or of a hint", () => {
    expect(topics("landings")(update(["briefs"], ["main", "landings"]))).toBe(true);
    expect(topics("landings")(update(["briefs"]))).toBe(false);
    expect(topics("inbox")(update())).toBe(false);
    expect(topics("agents")(update())).toBe(true);
    expect(topics("agent:play-1")(update())).toBe(true);
    expect(any(topics("inbox"), topics("main"))(update(["main"]))).toBe(true);
    expect(any(topics("inbox"), topics("main"))(update(["specs"]))).toBe(false);
  });

  it("cannot name what does not exist", () => {
    // @ts-expect-error -- no event changes such a topic
    topics("profiles");
  });
});
