// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { commands } from "../commands.svelte";
import { fakeDaemon } from "../testing/daemon";
import PaletteSearch from "./PaletteSearch.svelte";
import type { PaletteEntry } from "./palette-entries";

vi.mock("$app/navigation", () => ({ goto: vi.fn() }));

const command = (id: string, title: string, group: string) => ({ id, title, group, run: () => undefined });
let unregister = () => {};
beforeEach(() => {
  localStorage.clear();
  fakeDaemon({
    "GET /api/brief-rows": () => [],
    "GET /api/worktrees": () => [],
    "GET /api/agents": () => [],
    "GET /api/landings": () => [],
    "GET /api/search": () => [],
  });
  unregister = commands.register([
    command("home", "Home", "Go to"),
    command("rename", "Rename this brief", "This brief"),
    command("land", "Land cart", "This worktree"),
  ]);
});
afterEach(() => {
  unregister();
  cleanup();
  vi.unstubAllGlobals();
});

const options = () => screen.queryAllByRole("option").map((option) => option.textContent?.trim() ?? "");
const selected = () => screen.getByRole("option", { selected: true }).textContent;

describe("the palette", () => {
  it("finds a registered command by a few letters, and Enter chooses it", async () => {
    const chosen: PaletteEntry[] = [];
    render(PaletteSearch, { choose: (entry: PaletteEntry) => void chosen.push(entry) });
    await userEvent.type(screen.getByRole("combobox"), "rename");
    expect(options()).toHaveLength(1);
    await userEvent.keyboard("{Enter}");
    expect(chosen.map((entry) => entry.id)).toEqual(["rename"]);
  });

  it("keeps the selection when a better entry arrives before it", async () => {
    render(PaletteSearch, { choose: () => undefined });
    await userEvent.type(screen.getByRole("combobox"), "la");
    await userEvent.keyboard("{ArrowDown}{ArrowUp}");
    expect(selected()).toContain("Land cart");
    const drop = commands.register([command("la", "La", "This page")]);
    await vi.waitFor(() =>
      expect(options().some((text) => text.startsWith("La") && !text.includes("Land"))).toBe(true),
    );
    expect(selected()).toContain("Land cart");
    drop();
  });

  it("goes around at both ends", async () => {
    render(PaletteSearch, { choose: () => undefined });
    const all = options();
    await userEvent.click(screen.getByRole("combobox"));
    await userEvent.keyboard("{ArrowUp}");
    expect(selected()?.trim()).toBe(all.at(-1));
    await userEvent.keyboard("{ArrowDown}");
    expect(selected()?.trim()).toBe(all[0]);
  });

  it("loses what a component has unregistered, and remembers what was chosen", async () => {
    render(PaletteSearch, { choose: () => undefined });
    await userEvent.type(screen.getByRole("combobox"), "land cart{Enter}");
    cleanup();
    render(PaletteSearch, { choose: () => undefined });
    expect(screen.getByRole("group", { name: "Recent" }).textContent).toContain("Land cart");
    unregister();
    await vi.waitFor(() => expect(screen.queryByText("Land cart")).toBeNull());
  });
});
