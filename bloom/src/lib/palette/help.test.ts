import { describe, expect, it } from "vitest";
import { byGroup, latest, shown } from "./help";

const deed = (id: string, group: string, keys?: string) => ({ id, title: id, group, keys, run: () => undefined });

describe("shortcuts", () => {
  it("are shown key by key", () => {
    expect(shown("g b")).toEqual(["g", "b"]);
    expect(shown("mod+k", true)).toEqual(["⌘K"]);
    expect(shown("mod+k", false)).toEqual(["Ctrl K"]);
    expect(shown("ArrowDown")).toEqual(["↓"]);
  });

  it("are listed once, by group, as they count now", () => {
    const groups = byGroup([deed("home", "Go to", "g h"), deed("find", "Help", "/"), deed("search", "Briefs", "/")]);
    expect(groups.map((group) => [group.name, group.deeds.map((each) => each.id)])).toEqual([
      ["Go to", ["home"]],
      ["Briefs", ["search"]],
    ]);
    expect(byGroup([deed("quiet", "Briefs")])).toEqual([]);
  });

  it("offered twice are one", () => {
    expect(latest([deed("a", "x", "1"), deed("b", "x"), deed("a", "x", "2")]).map((each) => each.keys)).toEqual([
      "2",
      undefined,
    ]);
  });
});
