//! The plant lying: MAIN grows to the right, worktrees rise from it in lanes that never cross, petals fall below.
import {
  fitted,
  LETTER,
  nameOf,
  type Bloom,
  type Branch,
  type OnItsWay,
  type Petal,
  type Picture,
  type Words,
} from "./picture";
import type { Plant, Shoot } from "./plant";
import { along, chance, curvePath, heading, path, tapered, type Curve, type Point } from "./shapes";

const LEFT = 26;
const EDGE = 12;
/** Between two blooms. */
const CLOSEST = 52;
const WIDEST = 132;
/** From the newest bloom to the growing tip. */
const TIP = 62;
const RISE = 62;
const SLOPE = 0.05;
/** Lanes together are this high at most, as long as labels stay legible. */
const CROWN = 420;
const LOWEST_LANE = 15;
const HIGHEST_LANE = 44;

interface Ground {
  /** The stem's height at a place. */
  at: (x: number) => number;
  tip: number;
  x: (flower: number) => number;
}

export function wide(plant: Plant, width: number): Picture {
  const alive = plant.shoots.length + plant.buds.length > 0;
  const crown = alive ? Math.min(Math.max(width * 0.36, 250), 540) : Math.min(Math.max(width * 0.1, 90), 150);
  const tip = width - crown;
  const shown = Math.min(plant.flowers.length, Math.max(Math.floor((tip - TIP - LEFT - 20) / CLOSEST) + 1, 1));
  const first = plant.flowers.length - shown;
  const step = Math.min((tip - TIP - LEFT - 20) / Math.max(shown - 1, 1), WIDEST);
  const x = (flower: number) => (flower < first ? LEFT + 8 : tip - TIP - (plant.flowers.length - 1 - flower) * step);
  const drafts = plant.shoots.map((shoot) => draft(shoot, x(shoot.from), width));
  const lanes = inLanes(drafts);
  const count = Math.max(...lanes.map((lane) => lane + 1), 0);
  const gap = Math.max(Math.min(CROWN / Math.max(count, 1), HIGHEST_LANE), LOWEST_LANE);
  const base = Math.max(30 + RISE + count * gap, 96);
  const at = (place: number) => {
    const share = (place - LEFT) / (tip - LEFT);
    return base - 14 * share + 4.5 * Math.sin(share * 6.5 + 0.4);
  };
  const ground: Ground = { at, tip, x };
  const branches = drafts.map((made, index) => grown(made, lanes[index] ?? 0, gap, base, at));
  const buds = onTheirWay(plant, ground, branches, width);
  const petals = fallenOnes(plant, ground, base + 74);
  const height = base + (petals.length > 0 ? 104 : 72);
  return {
    width,
    height,
    grows: "right",
    stem: tapered(sampled(LEFT, tip, at), 8, 3),
    ahead: curveThrough(
      sampled(tip + 12, buds.at(-1)?.of ? Math.max(...buds.map((bud) => bud.x), tip + 60) : tip + 60, at),
    ),
    seed: { x: LEFT, y: at(LEFT) },
    tip: {
      x: tip,
      y: at(tip),
      turn: turnAt(tip, at),
      label: { x: tip + 2, y: at(tip) + 36, text: "MAIN", anchor: "middle" },
    },
    ground: petals.length > 0 ? path("M", LEFT, base + 82, "L", tip, base + 82) : undefined,
    blooms: blooms(plant, ground, first, step),
    branches,
    buds,
    petals,
  };
}

interface Draft {
  of: Shoot;
  from: number;
  reach: number;
  long: number;
  label: string;
  to: number;
}

/** How far a branch goes, before it is known how high. */
function draft(of: Shoot, from: number, width: number): Draft {
  const reach = 40;
  const leaves = of.leaves.length * 30;
  const room = Math.max(width - EDGE - from - reach, 40);
  const wanted = Math.max(46 + 9 * Math.min(of.ahead, 12), 26 + leaves + 9 * Math.min(of.ahead, 4));
  const long = Math.max(Math.min(wanted, room - 60), Math.min(26 + leaves, room - 10));
  const label = fitted(of.name, Math.min(room - long - 16, 190));
  return { of, from, reach, long, label, to: from + reach + long + 14 + label.length * LETTER };
}

/** The further back a branch began, the higher it passes over those that began later: then none crosses another. */
function inLanes(drafts: Draft[]): number[] {
  const lanes = drafts.map(() => 0);
  const order = drafts
    .map((_, index) => index)
    .toSorted((a, b) => (drafts[b]?.from ?? 0) - (drafts[a]?.from ?? 0) || b - a);
  const placed: { from: number; to: number; lane: number }[] = [];
  for (const index of order) {
    const made = drafts[index];
    if (!made) continue;
    const below = placed.filter((other) => other.from <= made.to && other.to >= made.from);
    const lane = Math.max(...below.map((other) => other.lane + 1), 0);
    lanes[index] = lane;
    placed.push({ from: made.from, to: made.to, lane });
  }
  return lanes;
}

function grown(made: Draft, lane: number, gap: number, base: number, at: (x: number) => number): Branch {
  const { of, from, reach, long } = made;
  const start = { x: from, y: at(from) };
  const high = base - RISE - lane * gap;
  const knee = { x: from + reach, y: high };
  const end = { x: knee.x + long, y: high - SLOPE * long - 3 };
  const arm: Curve = [
    knee,
    { x: knee.x + long * 0.35, y: high - 1 },
    { x: knee.x + long * 0.75, y: high - SLOPE * long },
    end,
  ];
  const rise = path(
    "C",
    start.x + 3,
    start.y - (start.y - high) * 0.6,
    start.x + reach * 0.2,
    high + 2,
    knee.x,
    knee.y,
  );
  const bend = path("C", ...arm.slice(1).flatMap((point) => [point.x, point.y]));
  const small = gap < 24;
  const leaves = of.leaves.map((leaf, index) => {
    const t = Math.min((16 + index * 30) / long, 0.9);
    const up = index % 2 === 0;
    return { of: leaf, ...along(arm, t), turn: heading(arm, t) + (up ? -42 : 38), long: small ? 14 : 28 };
  });
  const commits = Array.from({ length: Math.min(of.ahead, 12) }, (_, index) => along(arm, 1 - (index * 8) / long));
  const about = gap >= 30 ? fitted(of.about, 190, 6) : undefined;
  const label: Words = { x: end.x + 12, y: end.y + (about ? 0 : 4), text: made.label, anchor: "start", more: about };
  return {
    of,
    line: `${path("M", start.x, start.y)} ${rise} ${bend}`,
    beyond: of.dirty ? path("M", end.x, end.y, "q", 4, -1, 7, -4) : undefined,
    commits: commits.filter((point) => point.x > knee.x),
    end,
    label: made.label ? label : undefined,
    leaves,
    lane,
  };
}

/** Those that will land next are nearest to the tip. */
function onTheirWay(plant: Plant, { at, tip }: Ground, branches: Branch[], width: number): OnItsWay[] {
  const shown = plant.buds.slice(0, 12);
  const apart = Math.min((width - tip - 90) / Math.max(shown.length, 1), 64);
  return shown.map((of, index) => {
    const slot: Point = { x: tip + 62 + index * apart, y: at(tip + 62 + index * apart) };
    const label: Words = {
      x: slot.x,
      y: slot.y + 24,
      text: apart >= 56 ? of.state.replaceAll("_", " ") : "",
      anchor: "middle",
    };
    const branch = branches.find((branch) => branch.of.name === of.worktree);
    if (!branch) return { of, x: slot.x, y: slot.y - 3, turn: 90, label };
    const { end } = branch;
    const way: Curve = [
      end,
      { x: end.x + 26, y: end.y + (slot.y - end.y) * 0.35 },
      { x: slot.x + 10, y: slot.y - (slot.y - end.y) * 0.45 },
      slot,
    ];
    return { of, ...along(way, of.way), turn: heading(way, of.way) + 90, way: curvePath(way), label };
  });
}

/** Several beside one flower lie next to each other. */
function fallenOnes(plant: Plant, { x }: Ground, y: number): Petal[] {
  const there = new Map<number, number>();
  return plant.fallen.map((of) => {
    const place = x(of.beside);
    const before = there.get(place) ?? 0;
    there.set(place, before + 1);
    const luck = chance(`${of.landing}`);
    return {
      of,
      x: place + 16 + (before % 4) * 15,
      y: y - Math.floor(before / 4) * 9 + luck * 3,
      turn: 62 + luck * 60,
    };
  });
}

function blooms(plant: Plant, { at, x }: Ground, first: number, step: number): Bloom[] {
  let free = Infinity;
  const made: Bloom[] = [];
  for (let index = plant.flowers.length - 1; index >= first; index--) {
    const of = plant.flowers[index];
    if (!of) continue;
    const place = x(index);
    const text = fitted(nameOf(of), Math.max(step - 8, 30));
    const fits = place + (text.length * LETTER) / 2 + 6 < free;
    if (fits) free = place - (text.length * LETTER) / 2;
    const more = step >= 76 ? fitted(of.title, step - 10, 6) : undefined;
    made.push({
      of,
      x: place,
      y: at(place),
      turn: turnAt(place, at),
      radius: of.petals ? 13 + of.size * 7 : 4.5,
      label: fits ? { x: place, y: at(place) + 36, text, anchor: "middle", more } : undefined,
    });
  }
  return made;
}

function sampled(from: number, to: number, at: (x: number) => number): Point[] {
  const pieces = Math.max(Math.round((to - from) / 16), 2);
  return Array.from({ length: pieces + 1 }, (_, index) => {
    const x = from + ((to - from) * index) / pieces;
    return { x, y: at(x) };
  });
}

function curveThrough(points: Point[]): string {
  return path(...points.flatMap((point, index) => [index === 0 ? "M" : "L", point.x, point.y]));
}

function turnAt(x: number, at: (x: number) => number): number {
  return (Math.atan2(at(x + 4) - at(x - 4), 8) * 180) / Math.PI;
}
