//! Whether what was said about a line still has its line among the changes.
import type { FileChange } from "./parse-diff";
import type { Side } from "../api";

/** The two ends of a place: `src/app.rs|new:12`. */
export function parsePosition(at: string): { file: string; side: Side; line: number } {
  const [file = "", anchor = ""] = at.split(/\|(?=(?:new|old):\d+$)/);
  const [side, line] = anchor.split(":");
  return { file, side: side === "old" ? "old" : "new", line: Number(line) };
}

/** It is drawn, or can be unfolded. Before a change only what was removed can be seen. */
export function isInDiff(files: FileChange[], at: { file: string; side: Side; line: number }): boolean {
  return files.some((file) => {
    if (file.path !== at.file) return false;
    const lines = file.hunks.flatMap((hunk) => hunk.lines);
    if (at.side === "old") return lines.some((line) => line.kind === "removed" && line.old === at.line);
    if (lines.some((line) => line.new === at.line)) return true;
    return !file.binary && file.change !== "added" && file.change !== "deleted" && !file.emptied;
  });
}

/** Whether a line is the one that was read; the mark that some files end their lines with is no part of it. */
export function isSameLine(quote: string, text: string): boolean {
  return quote.replace(/\r$/, "") === text.replace(/\r$/, "");
}
