import { expect, it } from "vitest";
import { commentDraftsOf, keepCommentDraft } from "./comment-drafts";

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
  keepCommentDraft("shop/lane", "a.rs|new:1", draft("one"), store);
  keepCommentDraft("shop/lane", "a.rs|old:1", draft("two"), store);
  keepCommentDraft("yard/lane", "a.rs|new:1", draft("three"), store);
  keepCommentDraft("shop/lane", "a.rs|new:1", draft("one more"), store);
  expect(commentDraftsOf("shop/lane", store)).toEqual({ "a.rs|new:1": draft("one more"), "a.rs|old:1": draft("two") });
  keepCommentDraft("shop/lane", "a.rs|new:1", undefined, store);
  keepCommentDraft("shop/lane", "a.rs|old:1", draft("  "), store);
  expect(commentDraftsOf("shop/lane", store)).toEqual({});
  expect(commentDraftsOf("yard/lane", store)).toEqual({ "a.rs|new:1": draft("three") });
});

it("there are never more than fit, and the newest stay", () => {
  const store = storage();
  for (let at = 0; at < 80; at += 1) keepCommentDraft("shop/lane", `a|new:${at}`, draft("x".repeat(10_000)), store);
  const kept = commentDraftsOf("shop/lane", store);
  expect(Object.keys(kept).length).toBeLessThan(60);
  expect(kept["a|new:79"]).toBeDefined();
  keepCommentDraft("shop/lane", "b|new:1", draft("x".repeat(10_000_000)), store);
  expect(store.getItem("flower.comments")?.length).toBeLessThan(600_000);
});

it("ignores foreign data in the store, and survives a full one", () => {
  const store = storage();
  store.setItem("flower.comments", `[1, ["shop/lane"], ["shop/lane", "a", {"text": 3}], ["shop/lane", "b", null]]`);
  expect(commentDraftsOf("shop/lane", store)).toEqual({});
  store.setItem("flower.comments", "{");
  expect(commentDraftsOf("shop/lane", store)).toEqual({});
  expect(() => keepCommentDraft("shop/lane", "a", draft("one"), storage(3))).not.toThrow();
});
