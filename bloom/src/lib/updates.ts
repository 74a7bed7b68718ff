//! Updates from the daemon, and which of them concern a resource. The one place that knows what the daemon sends.
import type { EventView } from "./api";
import type { components } from "./schema";

/** A part of the state that an event changes, or that changes without an event. */
export type StateTopic = components["schemas"]["Topic"];
/** `agent:NAME` is the transcript of one agent; `all` follows after lost hints. */
export type Topic = StateTopic | "all" | `agent:${string}`;

/** Why something may have changed: events of the log, and topics that change without an event. */
export interface Update {
  events: EventView[];
  topics: Topic[];
  /** Updates were missed: anything may have changed. */
  all: boolean;
}

export type Concern = (update: Update) => boolean;

/** Events and hints that change one of these topics. */
export function topics(...wanted: Topic[]): Concern {
  const isWanted = (topic: Topic) => wanted.includes(topic);
  return (update) => update.topics.some(isWanted) || update.events.some((event) => event.topics?.some(isWanted));
}

export function any(...concerns: Concern[]): Concern {
  return (update) => concerns.some((concern) => concern(update));
}
