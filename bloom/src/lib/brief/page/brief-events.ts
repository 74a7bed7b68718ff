//! Which updates concern a brief.
import type { Concern } from "../../updates";

/** Events of these briefs. */
export function concernsBrief(...numbers: number[]): Concern {
  return (update) => update.events.some((event) => typeof event.brief === "number" && numbers.includes(event.brief));
}
