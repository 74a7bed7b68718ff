import { describe, expect, it } from "vitest";
import { confirmations } from "./confirmations.svelte";

const question = (title: string) => ({ title, paragraphs: [], verb: "Start it" });

describe("a question", () => {
  it("is answered once, and closes", async () => {
    const answer = confirmations.ask(question("One?"));
    expect(confirmations.open?.title).toBe("One?");
    confirmations.answer(true);
    confirmations.answer(false);
    expect(await answer).toBe(true);
    expect(confirmations.open).toBeUndefined();
  });

  it("is not replaced by another one, which counts as left", async () => {
    const first = confirmations.ask(question("One?"));
    expect(await confirmations.ask(question("Two?"))).toBe(false);
    expect(confirmations.open?.title).toBe("One?");
    confirmations.answer(true);
    expect(await first).toBe(true);
  });
});
