//! The plant lying: MAIN grows to the right, worktrees rise from it in lanes that never cross, petals fall below.
import { grown, inLanes, RISE } from "./branches";
import {
  fitted,
  LETTER,
  nameOf,
  type Bloom,
  type Branch,
  type PlacedBud,
  type Petal,
  type Picture,
  type LabelText,
} from "./stem-picture";
import type { Plant } from "./plant";
import { along, chance, curvePath, heading, path, tapered, type Curve, type Point } from "./shapes";

const EDGE = 26;
/** Between two blooms. */
const CLOSEST = 52;
const WIDEST = 132;
/** From the oldest bloom back to the beginning, and from the newest on to the growing tip. */
const FOOT = 56;
const TIP = 62;

interface Ground {
  /** The stem's height at a place. */
  at: (x: number) => number;
  tip: number;
  x: (flower: number) => number;
}

export function horizontalLayout(plant: Plant, width: number): Picture {
  const alive = plant.shoots.length + plant.buds.length > 0;
  const crown = alive ? Math.min(Math.max(width * 0.3, 250), 400) : Math.min(Math.max(width * 0.1, 90), 150);
  const room = width - crown - EDGE - FOOT - TIP;
  const shown = Math.min(plant.flowers.length, Math.max(Math.floor(room / CLOSEST) + 1, 1));
  const first = plant.flowers.length - shown;
  const step = Math.min(room / Math.max(shown - 1, 1), WIDEST);
  const long = FOOT + TIP + Math.max(shown - 1, 0) * step;
  // A young plant stands in the middle.
  const left = Math.max(Math.min((width - 200 - long) / 2, width - crown - long), EDGE);
  const tip = left + long;
  const x = (flower: number) => (flower < first ? left + 12 : tip - TIP - (plant.flowers.length - 1 - flower) * step);
  const lanes = inLanes(plant.shoots, x, width);
  const base = Math.max(48 + RISE + lanes.high, 110);
  const at = (place: number) => {
    const share = (place - left) / (tip - left);
    return base - 14 * share + 4.5 * Math.sin(share * 6.5 + 0.4);
  };
  const ground: Ground = { at, tip, x };
  const branches = plant.shoots.flatMap((_, index) => grown(lanes, index, base, at) ?? []);
  const buds = onTheirWay(plant, ground, branches, width);
  const petals = fallenOnes(plant, ground, base + 74);
  const height = base + (petals.length > 0 ? 104 : 72);
  return {
    width,
    height,
    grows: "right",
    stem: tapered(sampled(left, tip, at), 8, 3),
    ahead: curveThrough(
      sampled(tip + 12, buds.at(-1)?.of ? Math.max(...buds.map((bud) => bud.x), tip + 60) : tip + 60, at),
    ),
    older: plant.older || first > 0,
    seed: { x: left, y: at(left) },
    tip: {
      x: tip,
      y: at(tip),
      turn: turnAt(tip, at),
      label: { x: tip + 2, y: at(tip) + 36, text: "MAIN", anchor: "middle" },
    },
    ground: petals.length > 0 ? path("M", left, base + 82, "L", tip, base + 82) : undefined,
    blooms: blooms(plant, ground, first, step),
    branches,
    buds,
    petals,
  };
}

/** Those that will land next are nearest to the tip. */
function onTheirWay(plant: Plant, { at, tip }: Ground, branches: Branch[], width: number): PlacedBud[] {
  const shown = plant.buds.slice(0, 12);
  // Beside the names, as far as there is room: no bud lies over one.
  const first = Math.max(tip + 62, Math.min(farthest(branches) + 24, width - 28 - shown.length * 30));
  const apart = Math.min((width - first - 28) / Math.max(shown.length, 1), 64);
  return shown.map((of, index) => {
    const slot: Point = { x: first + index * apart, y: at(first + index * apart) };
    const label: LabelText = {
      x: slot.x,
      y: slot.y + 24,
      text: apart >= 56 ? of.state.replaceAll("_", " ") : "",
      anchor: "middle",
    };
    const branch = branches.find((branch) => branch.of.name === of.worktree);
    if (!branch) return { of, x: slot.x, y: slot.y - 3, turn: 90, label };
    const end = { x: Math.max(branch.end.x, rightOf(branch) + 4), y: branch.end.y };
    // Out to the side first, then down.
    const way: Curve = [end, { x: slot.x, y: end.y }, { x: slot.x, y: end.y + (slot.y - end.y) * 0.3 }, slot];
    return { of, ...along(way, of.way), turn: heading(way, of.way) + 90, way: curvePath(way), label };
  });
}

/** Where the label beside a branch ends; labels below a branch collide with nothing. */
function rightOf({ end, label }: Branch): number {
  return label && label.x > end.x ? label.x + label.text.length * LETTER : end.x;
}

function farthest(branches: Branch[]): number {
  return Math.max(...branches.map((branch) => (rightOf(branch) > branch.end.x ? rightOf(branch) : 0)), 0);
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
      radius: of.petals ? 11 + of.size * 10 : 4.5,
      label: fits ? { x: place, y: at(place) + 36, text, anchor: "middle", more } : undefined,
    });
  }
  return made;
}

function sampled(from: number, to: number, at: (x: number) => number): Point[] {
  const pieces = Math.max(Math.round((to - from) / 12), 24);
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
