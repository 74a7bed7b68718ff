//! Detects that a list has just moved, so that clicks aimed at the previous item are ignored.
import { untrack } from "svelte";

/** As long as a hand needs to see it. */
const SETTLE_DELAY = 400;

export class LayoutShift {
  moving = $state(false);
  private order: string[] = [];
  private pause: ReturnType<typeof setTimeout> | undefined;

  /** The keys of the shown items in order. Items added at the end move no others. */
  update(order: string[]): void {
    const before = this.order;
    this.order = order;
    if (before.every((key, at) => key === order[at])) return;
    clearTimeout(this.pause);
    untrack(() => (this.moving = true));
    this.pause = setTimeout(() => (this.moving = false), SETTLE_DELAY);
  }
}
