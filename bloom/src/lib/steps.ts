//! Through the rows of a list with two keys. A row is what has `data-step`; its link or itself is focused.
import type { Deed } from "./keys.svelte";

/** The two keys of a page that lists things; Enter opens what is focused, as everywhere. */
export function steps(box: () => HTMLElement | undefined, thing: string, group: string): Deed[] {
  return [
    { id: `${thing}-next`, title: `Next ${thing}`, group, keys: "j", run: () => step(box(), 1) },
    { id: `${thing}-previous`, title: `The ${thing} before`, group, keys: "k", run: () => step(box(), -1) },
  ];
}

function step(box: HTMLElement | undefined, by: 1 | -1): void {
  const rows = [...(box?.querySelectorAll<HTMLElement>("[data-step]") ?? [])];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
  const target = next?.matches("a, button") ? next : (next?.querySelector<HTMLElement>("a, button") ?? next);
  target?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}
