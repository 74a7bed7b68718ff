// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BriefView } from "../../api";
import { fakeDaemon, Refused } from "../../testing/daemon";
import { findSpecDraft, keepSpecDraft } from "./spec-draft";
import SpecEditor from "./SpecEditor.svelte";

vi.mock("../../editor/MarkdownEditor.svelte", () => import("../../testing/EditorStub.svelte"));

const briefAt = (version: number, markdown: string) => ({ number: 7, spec: { version, markdown } }) as BriefView;
const editor = () => screen.getByRole("textbox", { name: "Spec of #7" }) as HTMLTextAreaElement;
const leave = vi.fn();
const open = () => render(SpecEditor, { brief: briefAt(2, "# Cart"), draft: findSpecDraft(7), leave });

beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  leave.mockReset();
  vi.unstubAllGlobals();
});

describe("the editor of a spec", () => {
  it("keeps what is typed, and goes on with it", async () => {
    open();
    await userEvent.type(editor(), " and checkout");
    await vi.waitFor(() => expect(findSpecDraft(7)?.text).toBe("# Cart and checkout"));
    cleanup();
    open();
    expect(editor().value).toBe("# Cart and checkout");
  });

  it("saves the next version with its reason, drops the draft and leaves", async () => {
    const calls = fakeDaemon({ "POST /api/briefs/7/refine": () => briefAt(3, "") });
    open();
    await userEvent.type(editor(), "!");
    await userEvent.type(screen.getByRole("textbox", { name: "Reason for the change" }), "louder");
    await userEvent.click(screen.getByRole("button", { name: "Save version 3" }));
    await vi.waitFor(() => expect(leave).toHaveBeenCalledTimes(1));
    expect(calls.map((call) => call.body)).toEqual([{ markdown: "# Cart!", base: 2, why: "louder" }]);
    expect(findSpecDraft(7)).toBeUndefined();
  });

  it("lays a conflict beside the own text, loses nothing, and saves on top of it", async () => {
    let refused = false;
    const calls = fakeDaemon({
      "POST /api/briefs/7/refine": () => {
        if (refused) return briefAt(4, "");
        refused = true;
        return new Refused(409, "conflict", "the spec of brief 7 is at version 3, not 2");
      },
      "GET /api/briefs/7": () => briefAt(3, "# Basket"),
    });
    open();
    await userEvent.type(editor(), " of mine");
    await userEvent.click(screen.getByRole("button", { name: "Save version 3" }));
    expect((await screen.findByLabelText("Theirs")).textContent).toBe("# Basket");
    expect(editor().value).toBe("# Cart of mine");
    expect(leave).not.toHaveBeenCalled();
    expect(findSpecDraft(7)?.text).toBe("# Cart of mine");
    await userEvent.click(await screen.findByRole("button", { name: "Save version 4" }));
    await vi.waitFor(() => expect(leave).toHaveBeenCalledTimes(1));
    expect(calls.at(-1)?.body).toMatchObject({ markdown: "# Cart of mine", base: 3 });
  });

  it("keeps for the next version what was typed while it was saved", async () => {
    let answer = (_brief: BriefView) => {};
    fakeDaemon({ "POST /api/briefs/7/refine": () => new Promise((done) => (answer = done)) });
    keepSpecDraft(7, { base: 2, text: "# Cart!", why: "", at: 1 });
    open();
    await userEvent.click(screen.getByRole("button", { name: "Save version 3" }));
    await userEvent.type(editor(), " More.");
    answer(briefAt(3, "# Cart!"));
    await screen.findByRole("button", { name: "Save version 4" });
    expect(leave).not.toHaveBeenCalled();
    expect(findSpecDraft(7)).toMatchObject({ base: 3, text: "# Cart! More." });
  });
});
