//! Computes the hunks between two texts, as git would show them.
import type { Hunk, Line } from "./parse-diff";

const CONTEXT = 3;
/** Lines of both sides multiplied: beyond it everything between the first and the last difference counts as changed. */
const MAX_WORK = 1_000_000;

export function lineDiff(before: string, after: string): Hunk[] {
  return grouped(compared(linesOf(before), linesOf(after)));
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function compared(a: string[], b: string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [oldEnd, newEnd] = [a.length - end, b.length - end];
  const lines: Line[] = [];
  const same = (i: number, j: number) => lines.push({ kind: "same", text: a[i] ?? "", old: i + 1, new: j + 1 });
  const removed = (i: number) => lines.push({ kind: "removed", text: a[i] ?? "", old: i + 1 });
  const added = (j: number) => lines.push({ kind: "added", text: b[j] ?? "", new: j + 1 });
  for (let at = 0; at < start; at += 1) same(at, at);
  const width = newEnd - start + 1;
  const known = (oldEnd - start) * (newEnd - start) <= MAX_WORK;
  const longest = new Uint32Array(known ? (oldEnd - start + 1) * width : 0);
  const at = (i: number, j: number) => longest[(i - start) * width + j - start] ?? 0;
  if (known)
    for (let i = oldEnd - 1; i >= start; i -= 1)
      for (let j = newEnd - 1; j >= start; j -= 1)
        longest[(i - start) * width + j - start] =
          a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  let [i, j] = [start, start];
  while (i < oldEnd || j < newEnd) {
    if (known && i < oldEnd && j < newEnd && a[i] === b[j]) same(i++, j++);
    else if (i < oldEnd && (j >= newEnd || !known || at(i + 1, j) >= at(i, j + 1))) removed(i++);
    else added(j++);
  }
  for (let rest = 0; rest < end; rest += 1) same(oldEnd + rest, newEnd + rest);
  return lines;
}

/** Changes with a few lines around them. */
function grouped(lines: Line[]): Hunk[] {
  const hunks: Hunk[] = [];
  let last = -1;
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    const from = Math.max(index - CONTEXT, last + 1);
    const to = Math.min(index + CONTEXT, lines.length - 1);
    const joined = from === last + 1 && hunks.length > 0;
    const fresh = lines.slice(from, to + 1);
    if (joined) hunks.at(-1)?.lines.push(...fresh);
    else if (fresh[0]) hunks.push({ old: fresh[0].old ?? 0, new: fresh[0].new ?? 0, about: "", lines: fresh });
    last = Math.max(last, to);
  });
  return hunks;
}
