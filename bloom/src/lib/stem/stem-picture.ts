//! What a picture of the plant is made of, with its place.
import type { Bud, Fallen, Flower, Leaf, Shoot } from "./plant";
import type { Point } from "./shapes";

export interface LabelText extends Point {
  text: string;
  anchor: "start" | "middle" | "end";
  /** Quieter, on the same line. */
  beside?: string;
  /** A second line below. */
  more?: string;
}

export interface Bloom extends Point {
  of: Flower;
  radius: number;
  /** Which way the stem goes here, in degrees. */
  turn: number;
  label?: LabelText;
}

export interface Branch {
  of: Shoot;
  line: string;
  /** What is not committed, beyond the end. */
  beyond?: string;
  /** A dot per commit that MAIN has not. */
  commits: Point[];
  end: Point;
  label?: LabelText;
  leaves: PlacedLeaf[];
  /** For those who check that nothing lies over another. */
  lane: number;
}

export interface PlacedLeaf extends Point {
  of: Leaf;
  turn: number;
  long: number;
}

export interface PlacedBud extends Point {
  of: Bud;
  turn: number;
  /** From the worktree to where it will bloom. */
  way?: string;
  label?: LabelText;
}

export interface Petal extends Point {
  of: Fallen;
  turn: number;
}

export interface Picture {
  width: number;
  height: number;
  grows: "right" | "up";
  /** The stem's outline, and the line along its middle where it will go on. */
  stem: string;
  ahead: string;
  /** It begins before what is shown. */
  older: boolean;
  /** Its first point: a seed, or a fade into what is older. */
  seed: Point;
  tip: Point & { turn: number; label: LabelText };
  ground?: string;
  blooms: Bloom[];
  branches: Branch[];
  buds: PlacedBud[];
  petals: Petal[];
}

/** Cut to about this many pixels. */
export function fitted(text: string, room: number, letter = LETTER): string {
  const most = Math.floor(room / letter);
  return text.length <= most ? text : most < 3 ? "" : `${text.slice(0, most - 1)}…`;
}

/** About the width of a letter of a label. */
export const LETTER = 6.6;

export function nameOf(flower: Flower): string {
  const [brief, ...others] = flower.briefs;
  if (brief === undefined) return flower.commit.slice(0, 7);
  return others.length > 0 ? `#${brief} +${others.length}` : `#${brief}`;
}
