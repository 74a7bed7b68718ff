//! Splits a line of code into segments: syntax, changed words, and hidden characters.
import { splitHiddenInCode } from "../hidden-characters";
import type { Colour } from "./syntax-colours";
import type { Range } from "./changed-words";

export interface Segment {
  text: string;
  changed: boolean;
  /** What it is in its language. */
  what?: string;
  /** What is odd about it. */
  why?: string;
}

/** Hidden characters are split off first, so that no colour or mark can hide them. */
export function segments(text: string, words: Range[] = [], colours: Colour[] = []): Segment[] {
  const found: Segment[] = [];
  const changed = new Reader(words);
  const coloured = new Reader(colours);
  let at = 0;
  for (const piece of visible(text)) {
    const end = at + piece.long;
    if (piece.why !== undefined) {
      found.push({ text: piece.text, changed: changed.at(at) !== undefined, why: piece.why });
      at = end;
    }
    while (at < end) {
      const [word, colour] = [changed.at(at), coloured.at(at)];
      const to = Math.min(end, changed.next(at), coloured.next(at));
      found.push({
        text: text.slice(at, to),
        changed: word !== undefined,
        ...(colour?.[2] === undefined ? {} : { what: colour[2] }),
      });
      at = to;
    }
  }
  return found;
}

/** Ranges in their order, asked from the left to the right. */
class Reader<T extends [number, number, ...unknown[]]> {
  private index = 0;
  constructor(private readonly ranges: T[]) {}

  private first(at: number): T | undefined {
    while ((this.ranges[this.index]?.[1] ?? Infinity) <= at) this.index += 1;
    return this.ranges[this.index];
  }

  at(at: number): T | undefined {
    const range = this.first(at);
    return range && range[0] <= at ? range : undefined;
  }

  /** Where something begins or ends. */
  next(at: number): number {
    const range = this.first(at);
    if (!range) return Infinity;
    return range[0] > at ? range[0] : range[1];
  }
}

/** What is shown, and how many letters of the line it stands for. */
function visible(text: string): { text: string; why?: string; long: number }[] {
  return text
    .split(/(\r)/)
    .filter((part) => part !== "")
    .flatMap((part) =>
      part === "\r"
        ? [{ text: "CR", why: "carriage return", long: 1 }]
        : splitHiddenInCode(part).map(({ text, why, hidden }) => ({ text, why, long: (hidden ?? text).length })),
    );
}
