//! Restores the scroll position of a page, and position and selection of a list, when the operator comes back to it.
import { tick, untrack } from "svelte";

/** Where a list was left: its scroll offset and the selected line. */
export interface ListPosition {
  offset: number;
  current?: number | undefined;
}

/** Content loads bit by bit. A page that has not reached its old height by then has changed. */
const RESTORE_TIMEOUT = 4_000;
/** The position is held this long, because content above it may still grow. */
const HOLD = 400;
const USER_EVENTS = ["wheel", "touchmove", "pointerdown", "keydown"];

/** Scrolls to a position as soon as the content is tall enough, unless the operator scrolls or types first. */
export function restoreScroll(box: HTMLElement, top: number): () => void {
  let until = performance.now() + RESTORE_TIMEOUT;
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    for (const kind of USER_EVENTS) removeEventListener(kind, stop, true);
  };
  const step = (now: number) => {
    box.scrollTop = top;
    if (Math.abs(box.scrollTop - top) < 1) until = Math.min(until, now + HOLD);
    if (now < until) frame = requestAnimationFrame(step);
    else stop();
  };
  for (const kind of USER_EVENTS) addEventListener(kind, stop, true);
  step(performance.now());
  return stop;
}

interface RestorableList {
  position: ListPosition | undefined;
  list: { restore: (offset: number) => () => void } | undefined;
  /** Whether the line is loaded by now. */
  has: (line: number) => boolean;
}

/** For the component of a list: restores its scroll offset, then selects and focuses its line once. */
export function restoreListPosition(
  list: () => RestorableList,
  select: (line: number) => void,
  focus: (line: number) => void,
): void {
  $effect(() => {
    const { position, list: view } = list();
    return position && view ? untrack(() => view.restore(position.offset)) : undefined;
  });
  let restored: ListPosition | undefined;
  $effect(() => {
    const { position, has } = list();
    const line = position?.current;
    if (position === restored || line === undefined || !has(line)) return;
    restored = position;
    select(line);
    void tick().then(() => focus(line));
  });
}
