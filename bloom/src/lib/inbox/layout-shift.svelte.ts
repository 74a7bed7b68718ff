//! Whether a list has just moved: a click that was aimed at what stood there before is not taken for what stands there now.
import { untrack } from "svelte";

/** As long as a hand needs to see it. */
const SETTLE_DELAY = 400;

export class LayoutShift {
  moving = $state(false);
  private order: string[] = [];
  private pause: ReturnType<typeof setTimeout> | undefined;

  /** What is shown, in its order. What only comes behind the others moves none of them. */
  update(order: string[]): void {
    const before = this.order;
    this.order = order;
    if (before.every((key, at) => key === order[at])) return;
    clearTimeout(this.pause);
    untrack(() => (this.moving = true));
    this.pause = setTimeout(() => (this.moving = false), SETTLE_DELAY);
  }
}
