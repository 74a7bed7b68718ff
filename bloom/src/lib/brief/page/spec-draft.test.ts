import { describe, expect, it } from "vitest";
import { dropSpecDrafts, findSpecDraft, keepSpecDraft } from "./spec-draft";

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
    keepSpecDraft(1, { base: 1, text: "old", why: "", at: 1 }, storage);
    keepSpecDraft(1, { base: 2, text: "new", why: "w", at: 2 }, storage);
    keepSpecDraft(12, { base: 1, text: "other", why: "", at: 3 }, storage);
    expect(findSpecDraft(1, storage)).toEqual({ base: 2, text: "new", why: "w", at: 2 });
    dropSpecDrafts(1, storage);
    expect(findSpecDraft(1, storage)).toBeUndefined();
    expect(findSpecDraft(12, storage)?.text).toBe("other");
  });

  it("say when there is no room, and survive what others wrote there", () => {
    expect(keepSpecDraft(1, { base: 0, text: "x".repeat(100), why: "", at: 1 }, memory(50))).toBe(false);
    const storage = memory();
    storage.setItem("flower.draft.spec.1.0", "{nonsense");
    expect(findSpecDraft(1, storage)).toBeUndefined();
  });
});
