//! Which news concern a brief.
import type { News } from "../live.svelte";

/** Something of its trace was written. */
export function about(...numbers: number[]): (news: News) => boolean {
  return (news) => news.events.some((event) => typeof event.brief === "number" && numbers.includes(event.brief));
}
