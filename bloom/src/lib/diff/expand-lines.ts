//! Lines that a diff leaves out, and the diff with some of them expanded.
import type { Hunk, Line } from "./parse-diff";

/** Lines that are not shown, by their numbers after the change. Where a file ends is not known before it was read. */
export interface Gap {
  from: number;
  to?: number;
}

export type LineRange = [from: number, to: number];

/** A hunk with expanded lines around it, and the gap before it. */
export interface Section extends Hunk {
  gap?: Gap;
}

export interface ExpandedDiff {
  sections: Section[];
  /** What is hidden after the last of them. */
  rest?: Gap;
}

/** Lines added at once. */
export const STEP = 20;
/** As many lines as git shows around a change, unless the file ends before. */
const CONTEXT = 3;

/** Where a hunk begins: git counts a side without lines from the line before. */
function start(hunk: Hunk): { old: number; new: number } {
  const has = (side: "old" | "new") => hunk.lines.some((line) => line[side] !== undefined);
  return { old: has("old") ? hunk.old : hunk.old + 1, new: has("new") ? hunk.new : hunk.new + 1 };
}

function end(hunk: Hunk): { old: number; new: number } {
  const count = (side: "old" | "new") => hunk.lines.filter((line) => line[side] !== undefined).length;
  const { old, new: fresh } = start(hunk);
  return { old: old + count("old"), new: fresh + count("new") };
}

/** The file ends with this hunk, as far as the hunk tells. */
function endsFile(hunk: Hunk): boolean {
  return hunk.lines.slice(-CONTEXT).some((line) => line.kind !== "same" || line.open) || hunk.lines.length < CONTEXT;
}

/** What is left out before each hunk, and after the last one. */
export function gaps(hunks: Hunk[]): (Gap | undefined)[] {
  const found: (Gap | undefined)[] = [];
  let from = 1;
  for (const hunk of hunks) {
    const to = start(hunk).new - 1;
    found.push(to >= from ? { from, to } : undefined);
    from = end(hunk).new;
  }
  const last = hunks.at(-1);
  return [...found, last && !endsFile(last) ? { from } : undefined];
}

/** The lines left out before each hunk and after the last, from the file as it is now; nothing if it is another file. */
export function contextLines(hunks: Hunk[], text: string): Line[][] | undefined {
  const texts = text.split("\n");
  const open = texts.at(-1) !== "";
  if (!open) texts.pop();
  const found: Line[][] = [];
  let at = { old: 1, new: 1 };
  const until = (last: number) => {
    const lines: Line[] = [];
    for (; at.new <= last; at = { old: at.old + 1, new: at.new + 1 })
      lines.push({ kind: "same", text: texts[at.new - 1] ?? "", old: at.old, new: at.new });
    found.push(lines);
  };
  for (const hunk of hunks) {
    until(start(hunk).new - 1);
    if (at.old !== start(hunk).old) return undefined;
    if (hunk.lines.some((line) => line.new !== undefined && texts[line.new - 1] !== line.text)) return undefined;
    at = end(hunk);
  }
  until(texts.length);
  const last = found.at(-1)?.at(-1);
  if (last && open) last.open = true;
  return found;
}

/** The whole file as one hunk. */
export function wholeFile(hunks: Hunk[], between: Line[][]): Hunk {
  const lines = between.flatMap((lines, index) => [...lines, ...(hunks[index]?.lines ?? [])]);
  return { old: 1, new: 1, about: "", lines };
}

/** The hunks with the lines that are wanted; what then meets is one section. */
export function expandLines(hunks: Hunk[], between?: Line[][], wanted: LineRange[] = []): ExpandedDiff {
  const sections: Section[] = [];
  let hidden: Gap | undefined;
  /** Goes on with the section before, unless something is hidden between them. */
  const put = (hunk: Hunk) => {
    const before = sections.at(-1);
    if (before && !hidden) before.lines.push(...hunk.lines);
    else sections.push({ ...hunk, lines: [...hunk.lines], gap: hidden });
    hidden = undefined;
  };
  const isWanted = (at: number) => wanted.some(([from, to]) => from <= at && at <= to);
  gaps(hunks).forEach((gap, index) => {
    const hunk = hunks[index];
    if (!between) hidden = gap;
    for (const line of between?.[index] ?? []) {
      const at = line.new ?? 0;
      if (isWanted(at)) put({ old: line.old ?? at, new: at, about: "", lines: [line] });
      else hidden = { from: hidden?.from ?? at, to: at };
    }
    if (hunk) put(hunk);
  });
  return { sections, rest: hidden };
}

/** The choices for a gap: lines below the last change, lines above the next one, or all. */
export function expandChoices(
  gap: Gap,
  first: boolean,
  last: boolean,
): { what: "below" | "above" | "all"; lines: LineRange }[] {
  const { from, to } = gap;
  if (to !== undefined && to - from < STEP) return [{ what: "all", lines: [from, to] }];
  const found: { what: "below" | "above" | "all"; lines: LineRange }[] = [];
  if (!first) found.push({ what: "below", lines: [from, from + STEP - 1] });
  if (!last && to !== undefined) found.push({ what: "above", lines: [to - STEP + 1, to] });
  found.push({ what: "all", lines: [from, to ?? Infinity] });
  return found;
}
