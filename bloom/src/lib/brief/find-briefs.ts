//! Finds briefs by what was typed: a number means that brief before all else, words are looked for in the title.
import { matcher } from "../palette/fuzzy-match";
import type { BriefRow } from "./brief-row";

export interface FoundBrief {
  row: BriefRow;
  /** Where the title fits. */
  marks: [number, number][];
  score: number;
}

/** The best matches, at most `max`. `liked` adds to the score of a row. */
export function findBriefs(rows: BriefRow[], typed: string, max: number, liked = (_row: BriefRow) => 0): FoundBrief[] {
  const number = /^#?(\d+)$/.exec(typed.trim())?.[1];
  const fits = matcher(typed);
  const found: FoundBrief[] = [];
  for (const row of rows) {
    const own = String(row.number);
    const byNumber = number !== undefined && own.startsWith(number);
    const byTitle = byNumber ? undefined : fits(row.title);
    if (!byNumber && !byTitle) continue;
    const score = byNumber ? (own === number ? 1_000 : 70 - own.length) : (byTitle?.score ?? 0) - 1;
    found.push({ row, marks: byTitle?.marks ?? [], score: score + liked(row) });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, max);
}
