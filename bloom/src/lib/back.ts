//! Where one was on a page, found again on the way back.

/** A list that was left: how far it was scrolled, and what was chosen in it. */
export interface Left {
  offset: number;
  current?: number | undefined;
}

/** What a page shows comes in bit by bit. If it is not as tall as it was by then, it has become another one. */
const PATIENCE = 4_000;
/** So long it is held where it was, because what is above may still grow. */
const HOLD = 400;
const BY_HAND = ["wheel", "touchmove", "pointerdown", "keydown"];

/** Scrolls to where it was as soon as that is there again, unless somebody scrolls by hand. */
export function comeBack(box: HTMLElement, top: number): () => void {
  let until = performance.now() + PATIENCE;
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    for (const kind of BY_HAND) removeEventListener(kind, stop, true);
  };
  const step = (now: number) => {
    box.scrollTop = top;
    if (Math.abs(box.scrollTop - top) < 1) until = Math.min(until, now + HOLD);
    if (now < until) frame = requestAnimationFrame(step);
    else stop();
  };
  for (const kind of BY_HAND) addEventListener(kind, stop, true);
  step(performance.now());
  return stop;
}
