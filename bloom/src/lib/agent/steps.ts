//! Through the rows of a list with two keys. A row is what has `data-step`; its link or itself is focused.

export function step(box: HTMLElement | undefined, by: 1 | -1): void {
  const rows = [...(box?.querySelectorAll<HTMLElement>("[data-step]") ?? [])];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
  const target = next?.matches("a, button") ? next : (next?.querySelector<HTMLElement>("a, button") ?? next);
  target?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}
