import { describe, expect, it } from "vitest";
import { questions } from "./question.svelte";

const question = (title: string) => ({ title, says: [], verb: "Start it" });

describe("a question", () => {
  it("is answered once, and closes", async () => {
    const answer = questions.ask(question("One?"));
    expect(questions.open?.title).toBe("One?");
    questions.answer(true);
    questions.answer(false);
    expect(await answer).toBe(true);
    expect(questions.open).toBeUndefined();
  });

  it("is not replaced by another one, which counts as left", async () => {
    const first = questions.ask(question("One?"));
    expect(await questions.ask(question("Two?"))).toBe(false);
    expect(questions.open?.title).toBe("One?");
    questions.answer(true);
    expect(await first).toBe(true);
  });
});
