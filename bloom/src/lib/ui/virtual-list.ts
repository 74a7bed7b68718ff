//! Which lines of a virtual list are drawn, and in which elements.

/** An element's line: where it stands, or -1 if the element waits for one. */
export interface Slot {
  key: string | number | undefined;
  at: number;
}

/** Where each line begins, and where the last one ends. */
export function lineOffsets<T>(items: T[], height: (item: T) => number): Float64Array {
  const tops = new Float64Array(items.length + 1);
  for (let at = 0; at < items.length; at++) tops[at + 1] = tops[at]! + height(items[at]!);
  return tops;
}

/** The line that stands at a place; the nearest if there is none. */
export function lineAt(tops: Float64Array, place: number): number {
  let [low, high] = [0, Math.max(0, tops.length - 2)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle]! <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Assigns elements to lines: drawn lines keep theirs, new lines get those of lines that left. */
export function assignSlots<T>(
  before: Slot[],
  items: T[],
  key: (item: T) => string | number,
  first: number,
  many: number,
  kept: number,
): Slot[] {
  const end = Math.min(items.length, Math.max(0, first) + many);
  const wanted = new Map<string | number, number>();
  for (let at = Math.max(0, end - many); at < end; at++) wanted.set(key(items[at]!), at);
  const held = items[kept];
  if (held !== undefined && many > 0) wanted.set(key(held), kept);
  const slots = before.map((slot): Slot => {
    const at = slot.key === undefined ? undefined : wanted.get(slot.key);
    if (at === undefined) return { key: undefined, at: -1 };
    wanted.delete(slot.key!);
    return at === slot.at ? slot : { key: slot.key, at };
  });
  let free = 0;
  for (const [of, at] of wanted) {
    while (free < slots.length && slots[free]!.at >= 0) free++;
    slots[free] = { key: of, at };
  }
  while (slots.at(-1)?.at === -1) slots.pop();
  return slots;
}
