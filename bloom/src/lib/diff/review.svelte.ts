//! Comments on lines of a worktree's changes: those that were made, and those that are being written.
import { Action } from "../act.svelte";
import { asProblem, Problem, raw } from "../api";
import { any, kinds, resource, stirs } from "../live.svelte";

export interface LineComment {
  id: number;
  file: string;
  line: number;
  side: "new" | "old";
  /** The line as it was. */
  quote?: string | null;
  text: string;
  by: string;
  at: string;
  /** Who it was sent to; nobody was there if it is missing. */
  to?: string | null;
  heard: boolean;
}

/** Where a comment stands: `src/app.rs|new:12`. */
export function place(file: string, anchor: string): string {
  return `${file}|${anchor}`;
}

export class Review {
  readonly sending = new Action();
  /** What is being written, by place. It stays until it was sent or thrown away. */
  drafts = $state<Record<string, string>>({});
  private readonly comments;

  constructor(private readonly path: () => string) {
    this.comments = resource(
      () => this.read(),
      any(kinds("comment_", "review_", "message_"), stirs("worktrees", "agents")),
    );
  }

  private async read(): Promise<LineComment[] | null> {
    try {
      return (await (await raw(this.path())).json()) as LineComment[];
    } catch (error) {
      const problem = asProblem(error);
      // This flower knows no comments.
      if (problem.status === 404 || problem.status === 405) return null;
      throw problem;
    }
  }

  /** This flower can take comments. */
  get offered(): boolean {
    return Array.isArray(this.comments.data);
  }

  get all(): LineComment[] {
    return this.comments.data ?? [];
  }

  get problem(): Problem | undefined {
    return this.comments.problem;
  }

  readonly byPlace = $derived.by(() => {
    const found = new Map<string, LineComment[]>();
    for (const comment of this.all) {
      const at = place(comment.file, `${comment.side}:${comment.line}`);
      found.set(at, [...(found.get(at) ?? []), comment]);
    }
    return found;
  });

  begin(at: string): void {
    this.drafts[at] ??= "";
  }

  drop(at: string): void {
    delete this.drafts[at];
  }

  async send(at: string): Promise<void> {
    const [file = "", anchor = ""] = at.split(/\|(?=(?:new|old):\d+$)/);
    const [side, line] = anchor.split(":");
    const body = JSON.stringify({ file, side, line: Number(line), text: this.drafts[at] });
    const headers = { "content-type": "application/json" };
    if (await this.sending.run(() => raw(this.path(), { method: "POST", headers, body }))) {
      this.drop(at);
      await this.comments.refresh();
    }
  }
}

/** Whom it has reached. */
export function reached(comment: LineComment): string {
  if (!comment.to) return "waits for the next agent";
  return comment.heard ? `${comment.to} has read it` : `sent to ${comment.to}`;
}
