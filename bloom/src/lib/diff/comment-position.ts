//! Whether the line of a comment is still part of a diff.
import type { FileChange } from "./parse-diff";
import type { Side } from "../api";

/** The two ends of a place: `src/app.rs|new:12`. */
export function parsePosition(at: string): { file: string; side: Side; line: number } {
  const [file = "", anchor = ""] = at.split(/\|(?=(?:new|old):\d+$)/);
  const [side, line] = anchor.split(":");
  return { file, side: side === "old" ? "old" : "new", line: Number(line) };
}

/** The line is in the diff, or can be expanded. On the old side only removed lines are visible. */
export function isInDiff(files: FileChange[], at: { file: string; side: Side; line: number }): boolean {
  return files.some((file) => {
    if (file.path !== at.file) return false;
    const lines = file.hunks.flatMap((hunk) => hunk.lines);
    if (at.side === "old") return lines.some((line) => line.kind === "removed" && line.old === at.line);
    if (lines.some((line) => line.new === at.line)) return true;
    return !file.binary && file.change !== "added" && file.change !== "deleted" && !file.emptied;
  });
}

/** Whether two lines are equal, apart from a carriage return at the end. */
export function isSameLine(quote: string, text: string): boolean {
  return quote.replace(/\r$/, "") === text.replace(/\r$/, "");
}
