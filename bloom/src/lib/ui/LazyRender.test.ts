// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/svelte";
import { createRawSnippet, tick } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import LazyRender from "./LazyRender.svelte";

/** Tells the component what its observer has seen, one entry for each frame. */
let see: (...isIntersecting: boolean[]) => Promise<void>;

beforeEach(() => {
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(tell: (entries: { isIntersecting: boolean }[]) => void) {
        see = (...frames) => {
          tell(frames.map((isIntersecting) => ({ isIntersecting })));
          return tick();
        };
      }
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const children = createRawSnippet(() => ({ render: () => "<p>Lines</p>" }));
const lines = () => screen.queryByText("Lines");

describe("content near the viewport", () => {
  it("is rendered, and removed when it is far away", async () => {
    render(LazyRender, { height: 100, children });
    expect(lines()).toBeNull();
    await see(true);
    expect(lines()).not.toBeNull();
    await see(false);
    expect(lines()).toBeNull();
  });

  it("follows the last of several entries", async () => {
    render(LazyRender, { height: 100, children });
    await see(false, true);
    expect(lines()).not.toBeNull();
    await see(true, false);
    expect(lines()).toBeNull();
  });

  it("stays rendered while it must be kept", async () => {
    render(LazyRender, { height: 100, keep: true, children });
    await see(true);
    await see(false);
    expect(lines()).not.toBeNull();
  });
});
