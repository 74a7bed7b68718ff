import { expect, it } from "vitest";
import { draftsOf, keep } from "./drafts";

function storage(most = Infinity): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => {
      if (value.length > most) throw new Error("full");
      kept.set(name, value);
    },
  } as unknown as Storage;
}
const draft = (text: string) => ({ text, quote: "line" });

it("what was begun is kept by worktree and place until it is sent", () => {
  const store = storage();
  keep("shop/lane", "a.rs|new:1", draft("one"), store);
  keep("shop/lane", "a.rs|old:1", draft("two"), store);
  keep("yard/lane", "a.rs|new:1", draft("three"), store);
  keep("shop/lane", "a.rs|new:1", draft("one more"), store);
  expect(draftsOf("shop/lane", store)).toEqual({ "a.rs|new:1": draft("one more"), "a.rs|old:1": draft("two") });
  keep("shop/lane", "a.rs|new:1", undefined, store);
  keep("shop/lane", "a.rs|old:1", draft("  "), store);
  expect(draftsOf("shop/lane", store)).toEqual({});
  expect(draftsOf("yard/lane", store)).toEqual({ "a.rs|new:1": draft("three") });
});

it("there are never more than fit, and the newest stay", () => {
  const store = storage();
  for (let at = 0; at < 80; at += 1) keep("shop/lane", `a|new:${at}`, draft("x".repeat(10_000)), store);
  const kept = draftsOf("shop/lane", store);
  expect(Object.keys(kept).length).toBeLessThan(60);
  expect(kept["a|new:79"]).toBeDefined();
  keep("shop/lane", "b|new:1", draft("x".repeat(10_000_000)), store);
  expect(store.getItem("flower.comments")?.length).toBeLessThan(600_000);
});

it("what is there of somebody else's is no draft, and a full store is no end", () => {
  const store = storage();
  store.setItem("flower.comments", `[1, ["shop/lane"], ["shop/lane", "a", {"text": 3}], ["shop/lane", "b", null]]`);
  expect(draftsOf("shop/lane", store)).toEqual({});
  store.setItem("flower.comments", "{");
  expect(draftsOf("shop/lane", store)).toEqual({});
  expect(() => keep("shop/lane", "a", draft("one"), storage(3))).not.toThrow();
});
