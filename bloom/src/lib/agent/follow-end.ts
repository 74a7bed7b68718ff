//! Whether a growing list still follows its end. Entries are measured only once they are drawn, so that the list
//! moves and changes its length by itself; only a scroll upwards is the operator's.

/** In pixels, as a scroll event finds them. */
export interface ScrollState {
  offset: number;
  viewport: number;
  size: number;
}

/** Closer than this to the end is at the end. */
const END_TOLERANCE = 40;

export function followsEnd(follows: boolean, before: ScrollState | undefined, now: ScrollState): boolean {
  if (now.offset + now.viewport >= now.size - END_TOLERANCE) return true;
  // A list that became shorter moves up by itself.
  const isScrolledUp = before !== undefined && now.offset < before.offset && now.size >= before.size;
  return follows && !isScrolledUp;
}
