import { readFileSync } from "node:fs";
import { describe, expect, expectTypeOf, it } from "vitest";
import type { EventView } from "./api";
import { any, EVENT_KINDS, kinds, topics, type EventKindPrefix, type Update } from "./updates";

const update = (...events: string[]): Update => ({
  events: events.map((kind) => ({ kind }) as EventView),
  topics: ["agents", "agent:play-1"],
  all: false,
});

it("lists the kinds of events that the program defines", () => {
  const source = readFileSync("../crates/flower-core/src/event.rs", "utf8");
  const defined = [...source.matchAll(/^ {4}\w+ = "(\w+)" \{/gm)].map((match) => match[1]);
  expect(defined.length).toBeGreaterThan(50);
  expect(EVENT_KINDS).toEqual(defined);
});

describe("a concern", () => {
  it("is a kind, all kinds that begin alike, or a topic", () => {
    expect(kinds("landed")(update("landed"))).toBe(true);
    expect(kinds("landed")(update("dispatch_landed"))).toBe(false);
    expect(kinds("dispatch_")(update("brief_created", "dispatch_late"))).toBe(true);
    expect(topics("inbox")(update())).toBe(false);
    expect(topics("agent:play-1")(update())).toBe(true);
    expect(any(kinds("landed"), topics("agents"))(update())).toBe(true);
    expect(any(kinds("landed"), topics("inbox"))(update("pushed"))).toBe(false);
  });

  it("cannot name what does not exist", () => {
    expectTypeOf<"dispatch_">().toExtend<EventKindPrefix>();
    // @ts-expect-error -- no event begins so
    kinds("profile_");
    // @ts-expect-error -- no event is called so
    kinds("halted");
    // @ts-expect-error -- the daemon sends no such topic
    topics("main");
  });
});
