//! Which news concern a brief.
import type { Update } from "../../live.svelte";

/** Something of its trace was written. */
export function concernsBrief(...numbers: number[]): (update: Update) => boolean {
  return (update) => update.events.some((event) => typeof event.brief === "number" && numbers.includes(event.brief));
}
