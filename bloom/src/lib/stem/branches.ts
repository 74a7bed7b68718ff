//! The branches of a plant that lies: how far each goes, which lane it has, how it is drawn.
import { fitted, LETTER, type Branch, type LabelText } from "./stem-picture";
import type { Shoot } from "./plant";
import { along, heading, path, type Curve } from "./shapes";

/** From the stem to the lowest lane. */
export const RISE = 66;
const SLOPE = 0.05;
const EDGE = 12;
const LEAF = 32;
/** With few lanes there is room for words under each branch; with many, beside its end. */
const ROOMY = 48;
const MAX_ROOMY = 9;
const DENSE_ALL = 420;
const DENSE_MIN = 15;
const DENSE_MAX = 26;

interface Draft {
  of: Shoot;
  from: number;
  long: number;
  label: string;
  about: string;
  to: number;
}

export interface Lanes {
  drafts: Draft[];
  lanes: number[];
  gap: number;
  roomy: boolean;
  /** From the lowest lane to the highest. */
  high: number;
}

/** `x` is where a shoot begins on the stem. */
export function inLanes(shoots: Shoot[], x: (from: number) => number, width: number): Lanes {
  const roomy = laid(shoots, x, width, true);
  if (roomy.count <= MAX_ROOMY)
    return { ...roomy, gap: ROOMY, roomy: true, high: Math.max(roomy.count - 1, 0) * ROOMY };
  const dense = laid(shoots, x, width, false);
  const gap = Math.max(Math.min(DENSE_ALL / dense.count, DENSE_MAX), DENSE_MIN);
  return { ...dense, gap, roomy: false, high: (dense.count - 1) * gap };
}

/** The further back a branch began, the higher it passes over those that began later: then none crosses another. */
function laid(shoots: Shoot[], x: (from: number) => number, width: number, roomy: boolean) {
  const drafts = shoots.map((shoot) => draft(shoot, x(shoot.from), width, roomy));
  const lanes = drafts.map(() => 0);
  const order = drafts.map((_, index) => index);
  order.sort((a, b) => (drafts[b]?.from ?? 0) - (drafts[a]?.from ?? 0) || b - a);
  const placed: { from: number; to: number; lane: number }[] = [];
  for (const index of order) {
    const made = drafts[index];
    if (!made) continue;
    const below = placed.filter((other) => other.from <= made.to && other.to >= made.from);
    const lane = Math.max(...below.map((other) => other.lane + 1), 0);
    lanes[index] = lane;
    placed.push({ from: made.from, to: made.to, lane });
  }
  return { drafts, lanes, count: Math.max(...lanes.map((lane) => lane + 1), 0) };
}

/** How far a branch goes, before it is known how high. */
function draft(of: Shoot, from: number, width: number, roomy: boolean): Draft {
  const reach = reachOf(0);
  const leaves = of.leaves.length * LEAF;
  const room = Math.max(width - EDGE - from - reach, 60);
  const grown = 8 * Math.min(of.ahead, 12);
  const wanted = Math.max(44 + grown, 20 + leaves + Math.min(grown, 32));
  const words = roomy ? 0 : 90;
  const long = Math.max(Math.min(wanted, room - words), Math.min(24 + leaves, room));
  const label = fitted(of.name, roomy ? Math.min(room, 170) : Math.min(room - long - 16, 190));
  const about = roomy && of.ahead > 0 ? fitted(`${of.ahead} ahead`, room - (label.length + 1) * LETTER, 6) : "";
  const beside = 16 + label.length * LETTER;
  const under = 8 + label.length * LETTER + about.length * 6;
  return { of, from, long, label, about, to: from + reach + (roomy ? Math.max(long + 18, under) : long + beside) };
}

/** The higher, the more it leans. */
function reachOf(high: number): number {
  return 38 + Math.min(high * 0.09, 26);
}

export function grown(lanes: Lanes, index: number, base: number, at: (x: number) => number): Branch | undefined {
  const made = lanes.drafts[index];
  if (!made) return undefined;
  const { of, from, long } = made;
  const lane = lanes.lanes[index] ?? 0;
  const start = { x: from, y: at(from) };
  const high = base - RISE - lane * lanes.gap;
  const reach = reachOf(lane * lanes.gap);
  const knee = { x: from + reach, y: high };
  const end = { x: knee.x + long - (reach - reachOf(0)), y: high - SLOPE * long - 4 };
  const span = end.x - knee.x;
  const arm: Curve = [
    knee,
    { x: knee.x + span * 0.35, y: high - 4 },
    { x: knee.x + span * 0.72, y: high - SLOPE * long + 1 },
    end,
  ];
  const tall = start.y - high;
  const rise = path("C", from + 6, start.y - tall * 0.52, from + reach * 0.24, high + 6, knee.x, knee.y);
  const bend = path("C", ...arm.slice(1).flatMap((point) => [point.x, point.y]));
  const leaves = of.leaves.map((leaf, at) => {
    const t = Math.min((14 + at * (lanes.roomy ? LEAF : 26)) / span, 0.92);
    return { of: leaf, ...along(arm, t), turn: heading(arm, t) - 34, long: lanes.roomy ? 25 : 13 };
  });
  const commits = Array.from({ length: Math.min(of.ahead, 12) }, (_, at) => along(arm, 1 - ((at + 1) * 8) / span));
  const label: LabelText = lanes.roomy
    ? { x: knee.x - 4, y: high + 15, text: made.label, anchor: "start", beside: made.about }
    : { x: end.x + 10, y: end.y + 4, text: made.label, anchor: "start" };
  return {
    of,
    line: `${path("M", start.x, start.y)} ${rise} ${bend}`,
    beyond: of.dirty ? path("M", end.x + 3, end.y - 1, "q", 4, -2, 7, -6) : undefined,
    commits: commits.filter((point) => point.x > knee.x),
    end,
    label: made.label ? label : undefined,
    leaves,
    lane,
  };
}
