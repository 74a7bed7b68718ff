//! A line of code in the pieces it is drawn in: words that changed, and what is hidden made visible.
import { codePieces } from "../hidden";
import type { Range } from "./words";

export interface Segment {
  text: string;
  changed: boolean;
  /** What is odd about it. */
  why?: string;
}

export function segments(text: string, words: Range[] = []): Segment[] {
  const found: Segment[] = [];
  let at = 0;
  const take = (to: number, changed: boolean) => {
    if (to <= at) return;
    for (const piece of visible(text.slice(at, to))) found.push({ ...piece, changed });
    at = to;
  };
  for (const [from, to] of words) {
    take(from, false);
    take(to, true);
  }
  take(text.length, false);
  return found;
}

function visible(text: string) {
  if (!text.includes("\r")) return codePieces(text);
  return text
    .split(/(\r)/)
    .filter((part) => part !== "")
    .flatMap((part) => (part === "\r" ? [{ text: "CR", why: "carriage return" }] : codePieces(part)));
}
