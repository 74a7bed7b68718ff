//! Which news concern a brief.
import type { Concern } from "../../updates";

/** Something of its trace was written. */
export function concernsBrief(...numbers: number[]): Concern {
  return (update) => update.events.some((event) => typeof event.brief === "number" && numbers.includes(event.brief));
}
