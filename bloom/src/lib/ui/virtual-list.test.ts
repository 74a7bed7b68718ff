import { describe, expect, it } from "vitest";
import { lineAt, assignSlots, lineOffsets, type Slot } from "./virtual-list";

const numbers = (from: number, many: number) => Array.from({ length: many }, (_, at) => from + at);
const key = (item: number) => item;
const shown = (slots: Slot[]) => slots.flatMap(({ at }) => (at < 0 ? [] : [at])).sort((a, b) => a - b);

describe("places", () => {
  const tops = lineOffsets([10, 20, 30], (item) => item);
  it("are sums of heights", () => expect([...tops]).toEqual([0, 10, 30, 60]));
  it.each([
    [-5, 0],
    [0, 0],
    [9, 0],
    [10, 1],
    [29, 1],
    [30, 2],
    [999, 2],
  ])("%i is in line %i", (place, line) => expect(lineAt(tops, place)).toBe(line));
  it("of nothing are the first", () =>
    expect(
      lineAt(
        lineOffsets([], () => 1),
        50,
      ),
    ).toBe(0));
});

describe("elements", () => {
  it("stay with what stays, and go to what comes", () => {
    const items = numbers(0, 100);
    const before = assignSlots([], items, key, 0, 10, -1);
    const after = assignSlots(before, items, key, 4, 10, -1);
    expect(after.length).toBe(10);
    expect(shown(after)).toEqual(numbers(4, 10));
    for (const [slot, { at }] of before.entries()) if (at >= 4) expect(after[slot]).toBe(before[slot]);
  });

  it("follow their line when others come in above it", () => {
    const before = assignSlots([], numbers(0, 50), key, 0, 10, -1);
    const slot = before.findIndex((one) => one.key === 3);
    const after = assignSlots(before, [-2, -1, ...numbers(0, 50)], key, 0, 10, -1);
    expect(after[slot]).toEqual({ key: 3, at: 5 });
    expect(shown(after)).toEqual(numbers(0, 10));
  });

  it("are kept for the line that has the focus, however far one goes", () => {
    const items = numbers(0, 100);
    const before = assignSlots([], items, key, 0, 10, 2);
    const far = assignSlots(before, items, key, 80, 10, 2);
    expect(far[2]).toBe(before[2]);
    expect(shown(far)).toEqual([2, ...numbers(80, 10)]);
  });

  it("are never more than lines, and as many at the end as elsewhere", () => {
    expect(shown(assignSlots([], numbers(0, 3), key, 0, 10, -1))).toEqual([0, 1, 2]);
    const items = numbers(0, 100);
    const end = assignSlots(assignSlots([], items, key, 50, 10, -1), items, key, 97, 10, -1);
    expect(shown(end)).toEqual(numbers(90, 10));
    expect(assignSlots(end, [], key, 0, 10, -1)).toEqual([]);
  });
});
