//! Layout of diff lines: unified or side by side.
import type { FileChange, Line } from "./parse-diff";
import type { Gap, Section, ExpandedDiff } from "./expand-lines";
import { changedWords, type Range } from "./changed-words";

export interface Cell {
  line: Line;
  /** Which words of it changed. */
  words?: Range[];
}

/** The break before a hunk or after the last one: first line and gap. */
export interface Break {
  title: string;
  start?: number;
  gap?: Gap;
}

export type Row = Break | { left?: Cell; right?: Cell };

/** Runs of changes longer than this are not compared word by word. */
const MAX_PAIRS = 60;
/** Lines that are drawn, or not drawn, together. */
const BLOCK = 50;

/** The height of a line on the screen, if it is not broken. */
export const LINE = 20;

/** Where a comment stands: a side and a line. */
export function anchorOf(line: Line): string {
  return line.kind === "removed" ? `old:${line.old}` : `new:${line.new}`;
}

function title(section: Section): Row {
  return { title: section.about, start: section.new || section.old, gap: section.gap };
}

const after = (rest: Gap | undefined): Row[] => (rest ? [{ title: "", gap: rest }] : []);

/** One line after the other: `left` holds what was removed, `right` everything else. */
export function unified({ sections, rest }: ExpandedDiff): Row[] {
  const rows: Row[] = [];
  for (const section of sections) {
    rows.push(title(section));
    for (const [removed, added] of runs(section.lines)) {
      rows.push(...removed.map((cell) => ({ left: cell })), ...added.map((cell) => ({ right: cell })));
    }
  }
  return [...rows, ...after(rest)];
}

/** Before beside after. */
export function sideBySide({ sections, rest }: ExpandedDiff): Row[] {
  const rows: Row[] = [];
  for (const section of sections) {
    rows.push(title(section));
    for (const [removed, added] of runs(section.lines)) {
      const same = added[0]?.line.kind === "same";
      for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
        rows.push({ left: same ? added[at] : removed[at], right: added[at] });
    }
  }
  return [...rows, ...after(rest)];
}

/** What was removed with what came instead; a line that stayed is alone. */
function runs(lines: Line[]): [Cell[], Cell[]][] {
  const found: [Cell[], Cell[]][] = [];
  let at = 0;
  while (at < lines.length) {
    const removed: Cell[] = [];
    const added: Cell[] = [];
    for (let line = lines[at]; line?.kind === "removed"; line = lines[++at]) removed.push({ line });
    for (let line = lines[at]; line?.kind === "added"; line = lines[++at]) added.push({ line });
    const line = lines[at];
    if (removed.length + added.length === 0 && line) {
      added.push({ line });
      at += 1;
    }
    if (removed.length <= MAX_PAIRS && added.length <= MAX_PAIRS) pair(removed, added);
    found.push([removed, added]);
  }
  return found;
}

function pair(removed: Cell[], added: Cell[]): void {
  removed.forEach((before, index) => {
    const after = added[index];
    const changed = after && changedWords(before.line.text, after.line.text);
    if (changed) [before.words, after.words] = changed;
  });
}

/** Rows in blocks, so that only those near the screen have to be drawn. */
export function blocks(rows: Row[]): Row[][] {
  const found: Row[][] = [];
  for (let at = 0; at < rows.length; at += BLOCK) found.push(rows.slice(at, at + BLOCK));
  return found;
}

export function lineCount(file: FileChange): number {
  return file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
}
