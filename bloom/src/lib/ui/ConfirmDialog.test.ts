// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { createRawSnippet } from "svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Problem } from "../api";
import ConfirmDialog from "./ConfirmDialog.svelte";

afterEach(cleanup);

const children = createRawSnippet(() => ({ render: () => "<p>It ends at once.</p>" }));
const dialog = () => screen.queryByRole("dialog", { name: "Stop play-1?" });
const show = (work: () => Promise<unknown>, more: { ready?: boolean } = {}) =>
  render(ConfirmDialog, { open: true, title: "Stop play-1?", verb: "Stop it", work, children, ...more });

describe("the confirm dialog", () => {
  it("runs the work once, however often it is confirmed, and closes when it is done", async () => {
    let finish = () => {};
    const work = vi.fn(() => new Promise<void>((done) => (finish = done)));
    show(work);
    const confirm = screen.getByRole("button", { name: "Stop it" });
    await userEvent.click(confirm);
    // A second click, and Enter in a field of it.
    await userEvent.click(confirm);
    confirm.closest("form")?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
    expect(work).toHaveBeenCalledTimes(1);
    expect(confirm).toHaveProperty("disabled", true);
    expect(dialog()).not.toBeNull();
    finish();
    await vi.waitFor(() => expect(screen.queryByText("It ends at once.")).toBeNull());
  });

  it("stays open when the work fails, and says why in the dialog", async () => {
    show(() => Promise.reject(new Problem(409, "conflict", "play-1 has ended already", ["look at its transcript"])));
    await userEvent.click(screen.getByRole("button", { name: "Stop it" }));
    const reason = await screen.findByText("play-1 has ended already");
    expect(reason.closest("dialog")).not.toBeNull();
    expect(screen.getByText("look at its transcript")).toBeTruthy();
    expect(screen.getByRole("button", { name: "Stop it" })).toHaveProperty("disabled", false);
  });

  it("does nothing when it is left, or before it is ready", async () => {
    const work = vi.fn(() => Promise.resolve());
    show(work, { ready: false });
    await userEvent.click(screen.getByRole("button", { name: "Stop it" }));
    await userEvent.click(screen.getByRole("button", { name: "Leave it" }));
    expect(work).not.toHaveBeenCalled();
    expect(screen.queryByText("It ends at once.")).toBeNull();
  });
});
