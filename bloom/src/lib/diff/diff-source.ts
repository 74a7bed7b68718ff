//! Sources of diffs, and reading of long texts up to a limit.
import { raw } from "../api";

/** What has changes to be read: a worktree, one of its commits, a landing. */
export interface DiffSource {
  /** Where its `/diff` and its `/file` are. */
  base: string;
  /** What every question carries. */
  query: Record<string, string>;
  /** By which this browser remembers what was viewed. */
  name: string;
  /** The command that shows all of it. */
  command: string;
}

export function worktreeSource(project: string, worktree: string, commit?: string): DiffSource {
  return {
    base: `/api/worktrees/${encodeURIComponent(worktree)}`,
    query: { project, ...(commit ? { commit } : {}) },
    name: `${project}/${worktree}${commit ? `@${commit}` : ""}`,
    command: commit ? `git show ${commit}` : `flower diff ${worktree}`,
  };
}

export function landingSource(number: number): DiffSource {
  return {
    base: `/api/landings/${number}`,
    query: {},
    name: `landing ${number}`,
    command: `flower queue diff ${number}`,
  };
}

const MAX_BYTES = 12 * 1024 * 1024;

export interface BoundedText {
  text: string;
  /** There was more. */
  cut: boolean;
}

export async function readBounded(path: string, max = MAX_BYTES): Promise<BoundedText> {
  const answer = await raw(path);
  const reader = answer.body?.getReader();
  // Nothing that a file has is left out, not even a mark at its beginning.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  let bytes = 0;
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return { text: text + decoder.decode(), cut: false };
    bytes += value.length;
    text += decoder.decode(value, { stream: true });
    if (bytes > max) {
      await reader?.cancel();
      return { text, cut: true };
    }
  }
}
