import { describe, expect, it } from "vitest";
import type { Entry } from "../api";
import { relativeToWorktree, Items, MAX_ITEMS } from "./transcript";

let clock = 0;
const entry = (kind: Entry["kind"], text: string, more: Partial<Entry> = {}): Entry => ({
  at: `t${clock++}`,
  kind,
  text,
  ...more,
});

describe("a transcript", () => {
  it("has one item for each call of a tool", () => {
    const diff = { path: "f", old: null, new: "x" };
    const items = new Items().take([
      entry("tool", "Write f", { call: "1", title: "Write f", status: "in_progress", paths: ["/w/f"], diffs: [diff] }),
      entry("said", "meanwhile"),
      entry("tool", "Write f\nprinted\nmore", {
        call: "1",
        title: "Write f",
        output: "printed\nmore",
        status: "completed",
      }),
    ]);
    expect(items).toHaveLength(2);
    expect(items[0]).toMatchObject({
      text: "Write f",
      output: "printed\nmore",
      status: "completed",
      paths: ["/w/f"],
      diffs: [diff],
    });
  });

  it("joins what was said in pieces, and keeps what was said apart apart", () => {
    const items = new Items();
    items.take([entry("said", "I will "), entry("said", "greet.")]);
    const shown = items.take([entry("said", "Done."), entry("thought", "hm"), entry("said", "Bye")]);
    expect(shown.map((item) => item.text)).toEqual(["I will greet.\n\nDone.", "hm", "Bye"]);
  });

  it("draws only what changed again", () => {
    const items = new Items();
    const before = items.take([entry("prompt", "Do it"), entry("said", "Yes ")]);
    const after = items.take([entry("said", "sir")]);
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    expect(after[1]?.key).toBe(before[1]?.key);
  });

  it("has keys of its own for entries of one instant", () => {
    const at = "same";
    const items = new Items().take([entry("flower", "a", { at }), entry("flower", "b", { at })]);
    expect(new Set(items.map((item) => item.key)).size).toBe(2);
  });

  it("stays bounded, and still knows its open calls", () => {
    const items = new Items();
    items.take(Array.from({ length: MAX_ITEMS }, (_, index) => entry("flower", String(index))));
    items.take([entry("tool", "Run", { call: "late", status: "in_progress" })]);
    items.take(Array.from({ length: 3_000 }, (_, index) => entry("flower", `more ${index}`)));
    const shown = items.take([entry("tool", "Run", { call: "late", status: "completed" })]);
    expect(shown.length).toBeLessThanOrEqual(MAX_ITEMS * 1.1);
    expect(shown.filter((item) => item.kind === "tool").map((item) => item.status)).toEqual(["completed"]);
    expect(items.dropped).toBeGreaterThan(0);
  });
});

it("has the steps of a plan, and the text of one that an older flower wrote", () => {
  const steps = [{ text: "Read", status: "completed" as const }];
  const items = new Items().take([entry("plan", "[x] Read", { steps }), entry("plan", "[x] Old")]);
  expect(items.map((item) => item.steps)).toEqual([steps, undefined]);
  expect(items[1]!.text).toBe("[x] Old");
});

it("names paths from the worktree on", () => {
  expect(relativeToWorktree("/home/x/shop/a/src/x.rs", "shop/a")).toBe("src/x.rs");
  expect(relativeToWorktree("Edit /home/x/shop/a/src/x.rs twice", "shop/a")).toBe("Edit src/x.rs twice");
  expect(relativeToWorktree("/etc/x", "shop/a")).toBe("/etc/x");
  expect(relativeToWorktree("/home/shop/ab/x", "shop/a")).toBe("/home/shop/ab/x");
});
