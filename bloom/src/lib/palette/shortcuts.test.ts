import { describe, expect, it } from "vitest";
import { shortcutGroups, uniqueCommands, keyLabels } from "./shortcuts";

const command = (id: string, group: string, keys?: string) => ({ id, title: id, group, keys, run: () => undefined });

describe("shortcuts", () => {
  it("are shown key by key", () => {
    expect(keyLabels("g b")).toEqual(["g", "b"]);
    expect(keyLabels("mod+k", true)).toEqual(["⌘K"]);
    expect(keyLabels("mod+k", false)).toEqual(["Ctrl K"]);
    expect(keyLabels("ArrowDown")).toEqual(["↓"]);
  });

  it("are listed once, by group, as they count now", () => {
    const groups = shortcutGroups([
      command("home", "Go to", "g h"),
      command("find", "Help", "/"),
      command("search", "Briefs", "/"),
    ]);
    expect(groups.map((group) => [group.name, group.commands.map((each) => each.id)])).toEqual([
      ["Go to", ["home"]],
      ["Briefs", ["search"]],
    ]);
    expect(shortcutGroups([command("quiet", "Briefs")])).toEqual([]);
  });

  it("offered twice are one", () => {
    expect(
      uniqueCommands([command("a", "x", "1"), command("b", "x"), command("a", "x", "2")]).map((each) => each.keys),
    ).toEqual(["2", undefined]);
  });
});
