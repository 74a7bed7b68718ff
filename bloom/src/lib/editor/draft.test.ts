import { describe, expect, it } from "vitest";
import { dropDrafts, findDraft, keepDraft } from "./draft";

function memory(room = Infinity): Storage {
  const kept = new Map<string, string>();
  return {
    get length() {
      return kept.size;
    },
    key: (at: number) => [...kept.keys()][at] ?? null,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => {
      if (value.length > room) throw new Error("full");
      kept.set(name, value);
    },
    removeItem: (name: string) => void kept.delete(name),
    clear: () => kept.clear(),
  };
}

describe("drafts", () => {
  it("are kept per brief and base, and the newest is found", () => {
    const storage = memory();
    keepDraft(1, { base: 1, text: "old", why: "", at: 1 }, storage);
    keepDraft(1, { base: 2, text: "new", why: "w", at: 2 }, storage);
    keepDraft(12, { base: 1, text: "other", why: "", at: 3 }, storage);
    expect(findDraft(1, storage)).toEqual({ base: 2, text: "new", why: "w", at: 2 });
    dropDrafts(1, storage);
    expect(findDraft(1, storage)).toBeUndefined();
    expect(findDraft(12, storage)?.text).toBe("other");
  });

  it("say when there is no room, and survive what others wrote there", () => {
    expect(keepDraft(1, { base: 0, text: "x".repeat(100), why: "", at: 1 }, memory(50))).toBe(false);
    const storage = memory();
    storage.setItem("flower.draft.spec.1.0", "{nonsense");
    expect(findDraft(1, storage)).toBeUndefined();
  });
});
