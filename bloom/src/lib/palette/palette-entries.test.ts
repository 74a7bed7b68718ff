import { describe, expect, it } from "vitest";
import type { SearchPlace } from "../api";
import type { BriefRow } from "../brief/brief-row";
import { briefsFor, hitsFor, indexOfEntry, sections, type PaletteEntry } from "./palette-entries";

const entry = (id: string, title: string, group: string, more: Partial<PaletteEntry> = {}): PaletteEntry => ({
  id,
  title,
  group,
  icon: "",
  ...more,
});
const all = [
  entry("home", "Home", "Go to"),
  entry("landing", "Landing", "Go to"),
  entry("freeze", "Freeze MAIN", "Actions", { also: "stop landing" }),
  entry("wt", "landing-page", "Worktrees"),
  entry("next", "Next brief", "This page", { minor: true }),
];
const ids = (found: { name: string; entries: { id: string }[] }[]) =>
  found.map((section) => [section.name, ...section.entries.map((each) => each.id)]);
const row = (number: number, title: string) =>
  ({ number, title, kind: "fix", status: "draft", projects: ["shop"] }) as unknown as BriefRow;
const go = () => () => undefined;

describe("the palette", () => {
  it("with nothing typed shows what was used last, then what can be done", () => {
    expect(ids(sections(all, "", ["wt", "gone", "next"]))).toEqual([
      ["Recent", "wt"],
      ["Actions", "freeze"],
      ["Go to", "home", "landing"],
    ]);
  });

  it("puts the group of the best one first, and finds by other words last", () => {
    expect(ids(sections(all, "landing", []))).toEqual([
      ["Go to", "landing"],
      ["Worktrees", "wt"],
      ["Actions", "freeze"],
    ]);
  });

  it("keeps small steps until they are asked for", () => {
    expect(ids(sections(all, "next", []))).toEqual([["This page", "next"]]);
  });

  it("knows what was chosen again, also under another heading", () => {
    const halt = { id: "halt", section: "Actions" };
    const at = (section: string) => ({ entry: entry("halt", "Halt", section), section });
    const other = { entry: entry("x", "X", "Actions"), section: "Actions" };
    expect(indexOfEntry([at("This page"), other, at("Actions")], halt)).toBe(2);
    expect(indexOfEntry([other, at("This page")], halt)).toBe(1);
    expect(indexOfEntry([other], halt)).toBe(-1);
  });

  it("prefers what was used before among what fits alike", () => {
    const two = [entry("a", "Main log", "x"), entry("b", "Main row", "x")];
    expect(ids(sections(two, "main", ["b"]))).toEqual([["x", "b", "a"]]);
  });
});

describe("briefs", () => {
  const rows = [row(120, "Dark mode"), row(12, "Fix the door"), row(3, "Level 12 door")];

  it("are found by number first, then by title", () => {
    expect(briefsFor(rows, "#12", [], go).entries.map((each) => each.id)).toEqual(["brief:12", "brief:120"]);
    expect(briefsFor(rows, "12", [], go).entries.map((each) => each.id)).toEqual(["brief:12", "brief:120", "brief:3"]);
    expect(briefsFor(rows, "door", [], go).entries.map((each) => each.id)).toEqual(["brief:12", "brief:3"]);
  });

  it("of another project say so", () => {
    const [own, other] = ["shop", "garage"].map((project) => ({ ...row(1, "Door"), projects: [project] }));
    const about = (one: BriefRow) => briefsFor([one], "door", [], go, "shop").entries[0]!.about;
    expect([about(own!), about(other!)]).toEqual(["#1", "#1 · garage"]);
  });

  it("are few, however many there are", () => {
    const many = Array.from({ length: 10_000 }, (_, at) => row(at + 1, `Brief ${at}`));
    expect(briefsFor(many, "brief", [], go).entries).toHaveLength(6);
  });
});

describe("what the daemon found", () => {
  it("is shown once, and not again where it is shown already", () => {
    const hit = (brief: number, where: SearchPlace) => ({
      brief,
      where,
      title: "T",
      snippet: "a grey door",
      marks: [[2, 4]],
      score: 1,
    });
    const found = hitsFor([hit(1, "spec"), hit(2, "spec"), hit(2, "trace")], new Set(["brief:1"]), () => "draft", go);
    expect(found.entries).toHaveLength(1);
    const only = found.entries[0]!;
    expect(only.about).toBe("#2 spec: a grey door");
    const [start, length] = only.aboutMarks![0]!;
    expect(only.about!.slice(start, start + length)).toBe("grey");
  });
});
