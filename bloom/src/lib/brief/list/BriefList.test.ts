// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BriefListLine } from "../brief-filter";
import BriefList from "./BriefList.svelte";

const HEADING = 34;
const ROW = 36;
const heading: BriefListLine = { head: "planned", title: "planned", count: 300, status: "planned" };
const rows = Array.from({ length: 300 }, (_, index): BriefListLine => {
  const number = index + 1;
  const row = { number, title: `Brief ${number}`, kind: "feature", status: "planned", updated: "2026-11-16T08:00:00Z" };
  return { row: { ...row, epic: undefined, projects: ["shop"], questions: 0, ready: false } as never };
});
const props = { families: new Map(), titleOf: () => undefined, waits: () => false, showProject: false };
const drawn = () => screen.getAllByRole("link").map((link) => Number(link.dataset.number));

beforeEach(() => {
  // Nothing is laid out here: every box is as tall as a window.
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(600);
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

describe("the list of briefs", () => {
  it("draws only what is in sight", () => {
    render(BriefList, { ...props, lines: [heading, ...rows] });
    expect(drawn()).toContain(1);
    expect(drawn().length).toBeLessThan(60);
  });

  it("comes back to its place, with the line that was selected", async () => {
    const offset = HEADING + 99 * ROW;
    const { component, rerender } = render(BriefList, {
      ...props,
      lines: [heading],
      restored: { offset, current: 103 },
    });
    // The rows arrive later.
    await rerender({ lines: [heading, ...rows] });
    const list = screen.getByRole("list", { name: "Briefs" });
    await vi.waitFor(() => expect(list.scrollTop).toBe(offset));
    list.dispatchEvent(new Event("scroll"));
    await vi.waitFor(() => expect(document.activeElement?.getAttribute("data-number")).toBe("103"));
    expect(drawn()).toContain(100);
    expect(drawn()).not.toContain(1);
    expect(component.position()).toEqual({ offset, current: 103 });
  });

  it("steps over headings", async () => {
    const { component } = render(BriefList, {
      ...props,
      lines: [heading, rows[0]!, { ...heading, head: "b" }, rows[1]!],
    });
    for (const number of ["1", "2"]) {
      component.move(1);
      await vi.waitFor(() => expect(document.activeElement?.getAttribute("data-number")).toBe(number));
    }
    component.move(-1);
    await vi.waitFor(() => expect(document.activeElement?.getAttribute("data-number")).toBe("1"));
  });
});
