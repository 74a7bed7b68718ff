//! The unchanged lines around the changes of one file, read on demand.
import { asProblem, Problem } from "../api";
import { contextLines, type LineRange } from "./expand-lines";
import type { Hunk, Line } from "./parse-diff";

export class ContextLines {
  /** The lines before each hunk and after the last, once they were read. */
  between = $state.raw<Line[][]>();
  wanted = $state.raw<LineRange[]>([]);
  problem = $state.raw<Problem>();
  busy = $state(false);

  constructor(
    private readonly hunks: Hunk[],
    private readonly read: () => Promise<string>,
  ) {}

  /** Resolves to whether the lines are shown. */
  async show(lines: LineRange): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.problem = undefined;
    try {
      this.between ??= this.fitting(await this.read());
      this.wanted = [...this.wanted, lines];
      return true;
    } catch (error) {
      this.problem = asProblem(error);
      return false;
    } finally {
      this.busy = false;
    }
  }

  private fitting(text: string): Line[][] {
    const found = contextLines(this.hunks, text);
    if (found) return found;
    throw new Problem(409, "conflict", "The file has changed since this was read.", [
      "the new changes load in a moment",
    ]);
  }
}
