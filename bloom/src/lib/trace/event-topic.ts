//! The topic that an event is about.
import type { EventView, Topic } from "../api";

/** The first of its topics. An event that flower does not know names all of them, and counts as one of the log. */
export function topicOf(event: EventView): Topic {
  const topics = event.topics ?? [];
  return topics.includes("log") ? "log" : (topics[0] ?? "log");
}
