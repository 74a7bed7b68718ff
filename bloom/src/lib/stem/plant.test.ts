import { describe, expect, it } from "vitest";
import type { AgentView, HistoryEntry, LandingView, WorktreeView } from "../api";
import { plantOf, type Told } from "./plant";

const entry = (commit: string, over: Partial<HistoryEntry> = {}): HistoryEntry => ({
  commit,
  at: "2026-01-01T10:00:00Z",
  author: "Mike",
  title: commit,
  briefs: [],
  ...over,
});
const landing = (id: number, over: Partial<LandingView>) =>
  ({ id, title: `L${id}`, paths: [], state: "landed", queued_at: "2026-01-01T10:00:00Z", ...over }) as LandingView;
const worktree = (name: string, over: Partial<WorktreeView>) =>
  ({
    name,
    number: 1,
    agents: [],
    briefs: [],
    ahead: 0,
    behind: 0,
    dirty: false,
    state: "ready",
    base: "",
    ...over,
  }) as WorktreeView;
const agent = (name: string, over: Partial<AgentView>) =>
  ({ name, state: "working", worktree: "w", ...over }) as AgentView;
const told = (over: Partial<Told>): Told => ({
  log: [],
  asked: 40,
  worktrees: [],
  agents: [],
  queue: [],
  landings: [],
  ...over,
});

describe("the plant of a project", () => {
  it("has the oldest commit first; what landed is in bloom, what was rolled back is wilted", () => {
    const log = [
      entry("c", { landing: 2, state: "rolled_back", briefs: [7] }),
      entry("b", { landing: 1, state: "landed", briefs: [5, 6] }),
      entry("a"),
    ];
    const { flowers, older } = plantOf(told({ log }));
    expect(flowers.map((flower) => [flower.commit, flower.petals, flower.wilted])).toEqual([
      ["a", 0, false],
      ["b", 6, false],
      ["c", 5, true],
    ]);
    expect(older).toBe(false);
    expect(plantOf(told({ log, asked: 3 })).older).toBe(true);
  });

  it("lets worktrees begin where they did, before all that is shown if that is older", () => {
    const log = [entry("b"), entry("a")];
    const { shoots } = plantOf(
      told({ log, worktrees: [worktree("w", { base: "b" }), worktree("v", { base: "gone" })] }),
    );
    expect(shoots.map((shoot) => [shoot.name, shoot.from])).toEqual([
      ["w", 1],
      ["v", -1],
    ]);
  });

  it("has a leaf for each agent that lives, and a ring only for what is known", () => {
    const agents = [
      agent("one", { context: { used: 50, size: 100 } }),
      agent("two", { state: "waiting" }),
      agent("gone", { ended_at: "2026-01-01T10:00:00Z" }),
      agent("elsewhere", { worktree: "v" }),
    ];
    const leaves = plantOf(told({ worktrees: [worktree("w", {})], agents })).shoots[0]?.leaves;
    expect(leaves?.map((leaf) => [leaf.name, leaf.tone, leaf.breathes, leaf.fill])).toEqual([
      ["one", "progress", true, 0.5],
      ["two", "attention", false, undefined],
    ]);
  });

  it("keeps the order of what waits to land, and what was rejected where it fell", () => {
    const log = [entry("b", { at: "2026-01-01T12:00:00Z" }), entry("a")];
    const queue = [landing(9, { state: "checking" }), landing(8, { state: "queued" })];
    const landings = [
      landing(5, { state: "rejected", onto: "b" }),
      landing(4, { state: "rejected", ended_at: "2026-01-01T11:00:00Z" }),
      landing(3, { state: "cancelled" }),
    ];
    const plant = plantOf(told({ log, queue, landings }));
    expect(plant.buds.map((bud) => bud.landing)).toEqual([9, 8]);
    expect(plant.buds[0]?.way).toBeGreaterThan(plant.buds[1]?.way ?? 1);
    expect(plant.fallen.map((fallen) => [fallen.landing, fallen.beside])).toEqual([
      [5, 1],
      [4, 0],
    ]);
  });

  it("draws only so many worktrees, those with agents first, and says how many it left out", () => {
    const worktrees = Array.from({ length: 130 }, (_, index) =>
      worktree(`w${index}`, { number: index, agents: index < 5 ? ["a"] : [] }),
    );
    const plant = plantOf(told({ worktrees }));
    expect(plant.more).toBe(10);
    expect(plant.shoots.filter((shoot) => shoot.name.match(/^w[0-4]$/))).toHaveLength(5);
  });
});
