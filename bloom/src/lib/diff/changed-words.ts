//! Which words differ between two versions of one line.

/** From and to, in characters of the line. */
export type Range = [number, number];

/** Longer lines are not looked into. */
const MAX_LINE_LENGTH = 2_000;
/** Words of both sides multiplied: beyond it the middle counts as one change. */
const MAX_WORK = 60_000;
/** Lines that share less are two different lines. */
const MIN_SHARED = 0.35;

/** Nothing where the lines have so little in common that marking words would only be noise. */
export function changedWords(before: string, after: string): [Range[], Range[]] | undefined {
  if (before === after || before.length > MAX_LINE_LENGTH || after.length > MAX_LINE_LENGTH) return undefined;
  const [a, b] = [words(before), words(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [oldKept, newKept] = common(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const old = ranges(before, a, (index) => index < start || index >= a.length - end || oldKept.has(index - start));
  const fresh = ranges(after, b, (index) => index < start || index >= b.length - end || newKept.has(index - start));
  const shared = before.length - size(old);
  const longer = Math.max(before.trim().length, after.trim().length, 1);
  return shared / longer < MIN_SHARED ? undefined : [old, fresh];
}

function words(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function size(ranges: Range[]): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from, 0);
}

/** Which words of each are in the longest sequence that both have. */
function common(a: string[], b: string[]): [Set<number>, Set<number>] {
  const [inA, inB] = [new Set<number>(), new Set<number>()];
  if (a.length * b.length > MAX_WORK || a.length * b.length === 0) return [inA, inB];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      inA.add(i++);
      inB.add(j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return [inA, inB];
}

/** What is not kept; changes with nothing but a space between them are one. */
function ranges(text: string, parts: string[], kept: (index: number) => boolean): Range[] {
  const found: Range[] = [];
  let at = 0;
  parts.forEach((part, index) => {
    const last = found.at(-1);
    if (!kept(index)) {
      if (last && text.slice(last[1], at).trim() === "") last[1] = at + part.length;
      else found.push([at, at + part.length]);
    }
    at += part.length;
  });
  return found;
}
