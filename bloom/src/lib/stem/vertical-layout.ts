//! The plant standing: MAIN grows upwards, everything has a row of its own, with its words beside it.
import { fitted, nameOf, type Bloom, type Branch, type PlacedBud, type Petal, type Picture } from "./stem-picture";
import type { Plant, Shoot } from "./plant";
import { along, chance, heading, path, tapered, type Curve, type Point } from "./shapes";

const STEM = 40;
const ROW = 42;
const TOP = 26;
const EDGE = 10;
/** More is in the history. */
const MAX_FLOWERS = 12;

export function verticalLayout(plant: Plant, width: number): Picture {
  const first = Math.max(plant.flowers.length - MAX_FLOWERS, 0);
  const loose = plant.buds.filter((bud) => !plant.shoots.some((shoot) => shoot.name === bud.worktree)).slice(0, 6);
  const at = (y: number) => STEM + 4 * Math.sin(y / 55);
  let y = TOP + loose.length * ROW;
  const tip = y;
  const blooms: Bloom[] = [];
  const branches: Branch[] = [];
  const rows = new Map<number, number>();
  const grow = (from: (index: number) => boolean) => {
    for (const shoot of plant.shoots.filter((shoot) => from(shoot.from))) {
      y += ROW;
      branches.push(branch(shoot, y, at, width));
    }
  };
  for (let index = plant.flowers.length - 1; index >= first; index--) {
    const of = plant.flowers[index];
    if (!of) continue;
    grow((from) => from === index);
    y += ROW;
    rows.set(index, y);
    blooms.push({
      of,
      x: at(y),
      y,
      turn: -90,
      radius: of.petals ? 12 + of.size * 5 : 4,
      label: {
        x: STEM + 26,
        y: y - 2,
        text: fitted(nameOf(of), width - STEM - 40),
        anchor: "start",
        more: fitted(of.title, width - STEM - 40, 6),
      },
    });
  }
  grow((from) => from < first);
  const foot = y + ROW;
  return {
    width,
    height: foot + 24,
    grows: "up",
    stem: tapered(sampled(foot, tip, at), 7, 2.6),
    ahead: path("M", at(tip), tip - 10, "L", at(tip), Math.max(tip - 10 - Math.max(loose.length, 0.2) * ROW, 4)),
    older: plant.older || first > 0,
    seed: { x: at(foot), y: foot },
    tip: { x: at(tip), y: tip, turn: -90, label: { x: STEM + 26, y: tip + 4, text: "MAIN", anchor: "start" } },
    blooms,
    branches,
    buds: buds(plant, branches, tip, at, width),
    petals: petals(plant, rows, foot),
  };
}

function arm(shoot: Shoot, y: number, at: (y: number) => number): Curve {
  const long = 40 + Math.min(shoot.ahead, 6) * 7 + Math.min(shoot.leaves.length, 4) * 16;
  const start = { x: at(y + 16), y: y + 16 };
  const end = { x: start.x + long, y: y - 2 };
  return [start, { x: start.x + 6, y: y + 2 }, { x: start.x + long * 0.45, y: y + 2 }, end];
}

function branch(of: Shoot, y: number, at: (y: number) => number, width: number): Branch {
  const curve = arm(of, y, at);
  const [, second, third, end] = curve;
  const room = width - end.x - 12 - EDGE;
  const leaves = of.leaves.slice(0, 4).map((leaf, index) => {
    const t = Math.min(0.42 + index * 0.17, 0.94);
    return { of: leaf, ...along(curve, t), turn: heading(curve, t) + (index % 2 === 0 ? -46 : 40), long: 20 };
  });
  const commits = Array.from({ length: Math.min(of.ahead, 6) }, (_, index) => along(curve, 1 - index * 0.07));
  return {
    of,
    line: path("M", curve[0].x, curve[0].y, "C", second.x, second.y, third.x, third.y, end.x, end.y),
    beyond: of.dirty ? path("M", end.x, end.y, "q", 4, -1, 7, -4) : undefined,
    commits,
    end,
    label: { x: end.x + 12, y: y - 2, text: fitted(of.name, room), anchor: "start", more: fitted(of.about, room, 6) },
    leaves,
    lane: y,
  };
}

/** What has a worktree moves along its branch; what has none waits above the tip, the next one nearest. */
function buds(plant: Plant, branches: Branch[], tip: number, at: (y: number) => number, width: number): PlacedBud[] {
  let above = 0;
  return plant.buds.slice(0, 24).flatMap((of): PlacedBud[] => {
    const on = branches.find((branch) => branch.of.name === of.worktree);
    if (on) {
      const curve = arm(on.of, on.lane, at);
      const t = 1 - of.way;
      return [{ of, ...along(curve, t), turn: heading(curve, t) - 90 }];
    }
    above += 1;
    if (above > 6) return [];
    const y = tip - above * ROW + 4;
    const room = width - STEM - 40;
    const label = {
      x: STEM + 26,
      y: y - 2,
      text: fitted(of.title, room),
      anchor: "start" as const,
      more: of.state.replaceAll("_", " "),
    };
    return [{ of, x: at(tip), y, turn: 180, label }];
  });
}

function petals(plant: Plant, rows: Map<number, number>, foot: number): Petal[] {
  const there = new Map<number, number>();
  return plant.fallen.flatMap((of): Petal[] => {
    const y = rows.get(of.beside) ?? foot;
    const before = there.get(y) ?? 0;
    there.set(y, before + 1);
    if (before > 2) return [];
    const luck = chance(`${of.landing}`);
    return [{ of, x: 10 + luck * 5, y: y - 4 + before * 11, turn: 60 + luck * 50 }];
  });
}

function sampled(from: number, to: number, at: (y: number) => number): Point[] {
  const pieces = Math.max(Math.round(Math.abs(from - to) / 14), 2);
  return Array.from({ length: pieces + 1 }, (_, index) => {
    const y = from + ((to - from) * index) / pieces;
    return { x: at(y), y };
  });
}
