//! A list that was left and is come back to: at its place, and with what was chosen in it.
import { tick, untrack } from "svelte";
import type { Left } from "./back";

interface Returning {
  left: Left | undefined;
  list: { back: (place: number) => () => void } | undefined;
  /** Whether it is there by now. */
  has: (chosen: number) => boolean;
}

/** For the component of the list; `choose` is called once for each return. */
export function comeBackTo(
  now: () => Returning,
  choose: (chosen: number) => void,
  focus: (chosen: number) => void,
): void {
  $effect(() => {
    const { left, list } = now();
    return left && list ? untrack(() => list.back(left.offset)) : undefined;
  });
  let returned: Left | undefined;
  $effect(() => {
    const { left, has } = now();
    const chosen = left?.current;
    if (left === returned || chosen === undefined || !has(chosen)) return;
    returned = left;
    choose(chosen);
    void tick().then(() => focus(chosen));
  });
}
