// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { restoreScroll } from "./scroll-restore.svelte";

/** A box that can be scrolled as far as its content goes. */
function box(height: number) {
  const made = document.createElement("div");
  let top = 0;
  const state = { made, height };
  Object.defineProperty(made, "scrollTop", {
    get: () => top,
    set: (wanted: number) => (top = Math.min(wanted, state.height)),
  });
  return state;
}

describe("a scroll position", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is restored once the content is tall enough, and held while it still grows", () => {
    const list = box(200);
    restoreScroll(list.made, 900);
    vi.advanceTimersByTime(100);
    expect(list.made.scrollTop).toBe(200);
    list.height = 2_000;
    vi.advanceTimersByTime(100);
    expect(list.made.scrollTop).toBe(900);
    // Content that loads above pushes it away.
    list.made.scrollTop = 700;
    vi.advanceTimersByTime(100);
    expect(list.made.scrollTop).toBe(900);
    vi.advanceTimersByTime(1_000);
    list.made.scrollTop = 50;
    vi.advanceTimersByTime(1_000);
    expect(list.made.scrollTop).toBe(50);
  });

  it("is given up when the operator scrolls or types, and when the content never comes", () => {
    for (const kind of ["wheel", "keydown", "pointerdown"]) {
      const list = box(200);
      restoreScroll(list.made, 900);
      window.dispatchEvent(new Event(kind));
      list.height = 2_000;
      vi.advanceTimersByTime(1_000);
      expect(list.made.scrollTop, kind).toBe(200);
    }
    const changed = box(200);
    restoreScroll(changed.made, 900);
    vi.advanceTimersByTime(6_000);
    changed.height = 2_000;
    vi.advanceTimersByTime(1_000);
    expect(changed.made.scrollTop).toBe(200);
  });
});
