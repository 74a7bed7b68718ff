// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import { confirmations } from "../confirmations.svelte";
import ConfirmationHost from "./ConfirmationHost.svelte";

let leavePage = () => {};
vi.mock("$app/navigation", () => ({ beforeNavigate: (run: () => void) => (leavePage = run) }));
afterEach(cleanup);

const thaw = {
  title: "Thaw MAIN and start 1 agent?",
  paragraphs: ["Landings go on."],
  list: ["#1 Cart: build by `play`"],
  verb: "Thaw and start 1 agent",
};

describe("a confirmation", () => {
  it("names what starts, and a stray Enter or space leaves it", async () => {
    render(ConfirmationHost);
    const answer = confirmations.ask(thaw);
    await screen.findByText("Landings go on.");
    expect(screen.getByText("play").tagName).toBe("CODE");
    const leave = screen.getByRole("button", { name: "Leave it" });
    expect(document.activeElement).toBe(leave);
    await userEvent.keyboard("{Enter}");
    expect(await answer).toBe(false);
  });

  it("is confirmed by the button that names it", async () => {
    render(ConfirmationHost);
    const answer = confirmations.ask(thaw);
    await userEvent.click(await screen.findByRole("button", { name: "Thaw and start 1 agent" }));
    expect(await answer).toBe(true);
    await vi.waitFor(() => expect(screen.queryByText("Landings go on.")).toBeNull());
  });

  it("is left with the page", async () => {
    render(ConfirmationHost);
    const answer = confirmations.ask(thaw);
    await screen.findByText("Landings go on.");
    leavePage();
    expect(await answer).toBe(false);
  });
});
