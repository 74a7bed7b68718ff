//! Keyboard navigation through the rows of a list. A row has `data-row`; its first link or button gets the focus.
import type { Command } from "./commands.svelte";

/** The keys for the next and the previous row of a list. Enter opens the focused row. */
export function rowCommands(box: () => HTMLElement | undefined, thing: string, group: string): Command[] {
  return [
    { id: `${thing}-next`, title: `Next ${thing}`, group, keys: "j", run: () => focusRow(box(), 1) },
    { id: `${thing}-previous`, title: `Previous ${thing}`, group, keys: "k", run: () => focusRow(box(), -1) },
  ];
}

function focusRow(box: HTMLElement | undefined, by: 1 | -1): void {
  const rows = [...(box?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
  const target = next?.matches("a, button") ? next : (next?.querySelector<HTMLElement>("a, button") ?? next);
  target?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}
