//! A unified diff as lines to be drawn.

export interface SpecDiffLine {
  sort: "added" | "removed" | "same" | "place";
  text: string;
  /** In the old and in the new text. */
  old?: number;
  now?: number;
}

/** The header of the files is left out; there is only one. */
export function specDiffLines(diff: string): SpecDiffLine[] {
  const found: SpecDiffLine[] = [];
  let old = 0;
  let now = 0;
  let inside = false;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const place = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (place) {
      inside = true;
      old = Number(place[1]);
      now = Number(place[2]);
      found.push({ sort: "place", text: `line ${now}` });
    } else if (!inside) continue;
    else if (line.startsWith("+")) found.push({ sort: "added", text: line.slice(1), now: now++ });
    else if (line.startsWith("-")) found.push({ sort: "removed", text: line.slice(1), old: old++ });
    else if (!line.startsWith("\\")) found.push({ sort: "same", text: line.slice(1), old: old++, now: now++ });
  }
  return found;
}
