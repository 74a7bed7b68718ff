//! Plants for tests.
import type { Plant, Shoot } from "./plant";

export function shoot(index: number, from: number, over: Partial<Shoot> = {}): Shoot {
  return {
    name: `worktree-${index}`,
    project: "shop",
    from,
    ahead: index % 9,
    behind: 0,
    dirty: index % 3 === 0,
    briefs: [index],
    leaves: Array.from({ length: index % 4 }, (_, leaf) => ({
      name: `agent-${index}-${leaf}`,
      state: "working",
      tone: "progress",
      breathes: true,
      fill: 0.5,
    })),
    about: `${index % 9} ahead`,
    ...over,
  };
}

export function sample(flowers: number, shoots: Shoot[], over: Partial<Plant> = {}): Plant {
  return {
    flowers: Array.from({ length: flowers }, (_, index) => ({
      commit: `${index}`.padStart(40, "c"),
      title: `Change ${index}`,
      at: new Date(index * 60_000).toISOString(),
      landing: index,
      briefs: [index],
      wilted: false,
      petals: 5,
      size: 0.5,
    })),
    shoots,
    buds: [],
    fallen: [],
    older: false,
    more: 0,
    ...over,
  };
}

export function many(number: number, flowers: number): Plant {
  return sample(
    flowers,
    Array.from({ length: number }, (_, index) => shoot(index, flowers - 1 - ((index * 7) % Math.min(flowers, 12)))),
    {
      buds: [0, 1, 2].map((index) => ({
        landing: 900 + index,
        title: `Landing ${index}`,
        state: "queued",
        reason: "",
        tone: "neutral",
        moves: false,
        way: 0.12 + index * 0.3,
        worktree: index < 2 ? `worktree-${index}` : undefined,
      })),
      fallen: Array.from({ length: 9 }, (_, index) => ({
        landing: 800 + index,
        title: "Fell",
        reason: "red",
        at: "",
        beside: index % 3,
      })),
    },
  );
}
