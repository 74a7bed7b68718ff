//! Comments on lines of a worktree's changes: those that were made, and those that are being written.
import { Action } from "../action.svelte";
import type { Problem } from "../api";
import { api, ask, type CommentView } from "../api";
import { resource, topics } from "../live.svelte";
import { commentDraftsOf, keepCommentDraft, type CommentDraft } from "./comment-drafts";
import { parsePosition } from "./comment-position";

/** Where a comment stands: `src/app.rs|new:12`. */
export function place(file: string, anchor: string): string {
  return `${file}|${anchor}`;
}

interface LineTarget {
  at: string;
  quote: string;
}

export class Review {
  readonly sending = new Action();
  /** Drafts by position. They stay until they are sent or discarded. */
  drafts = $state<Record<string, CommentDraft>>({});
  private readonly comments;
  /** The lines under the keyboard focus and under the pointer, for the shortcut that comments. */
  private focused: LineTarget | undefined;
  private hovered: LineTarget | undefined;

  constructor(private readonly of: () => { project: string; name: string }) {
    // Who has read them shows in what agents do.
    this.comments = resource(
      () => ask(api.GET("/api/worktrees/{name}/comments", { params: this.params() })),
      topics("agents", "messages"),
    );
    this.drafts = commentDraftsOf(this.key());
  }

  private params() {
    const { project, name } = this.of();
    return { path: { name }, query: { project } };
  }

  private key(): string {
    const { project, name } = this.of();
    return `${project}/${name}`;
  }

  get all(): CommentView[] {
    return this.comments.data ?? [];
  }

  get problem(): Problem | undefined {
    return this.comments.problem;
  }

  readonly byPlace = $derived.by(() => {
    const found = new Map<string, CommentView[]>();
    for (const comment of this.all) {
      const at = place(comment.file, `${comment.side}:${comment.line}`);
      found.set(at, [...(found.get(at) ?? []), comment]);
    }
    return found;
  });

  /** Where something is being written, and where anything is said: one look for all lines together. */
  readonly writing = $derived(new Set(Object.keys(this.drafts)));
  readonly places = $derived(new Set([...this.byPlace.keys(), ...this.writing]));

  /** The line as it is read now is what it is about. */
  begin(at: string, quote: string): void {
    this.drafts[at] ??= { text: "", quote };
  }

  focus(line: LineTarget | undefined): void {
    this.focused = line;
  }

  hover(line: LineTarget | undefined): void {
    this.hovered = line;
  }

  /** Begins a comment on the focused line, else on the line under the pointer. */
  beginAtPointer(): void {
    // An element that was removed while it had the focus tells nothing about it.
    const line = (document.activeElement === document.body ? undefined : this.focused) ?? this.hovered;
    if (line) this.begin(line.at, line.quote);
  }

  /** Another line stands there by now, and it is about that one. */
  move(at: string, quote: string): void {
    this.set(at, { text: this.drafts[at]?.text ?? "", quote });
  }

  write(at: string, text: string): void {
    this.set(at, { text, quote: this.drafts[at]?.quote ?? "" });
  }

  drop(at: string): void {
    delete this.drafts[at];
    keepCommentDraft(this.key(), at);
  }

  private set(at: string, draft: CommentDraft): void {
    this.drafts[at] = draft;
    keepCommentDraft(this.key(), at, draft);
  }

  async send(at: string): Promise<void> {
    const draft = this.drafts[at];
    if (!draft) return;
    const quote = draft.quote.replace(/\r$/, "");
    const body = { ...parsePosition(at), text: draft.text, quote };
    const send = () => ask(api.POST("/api/worktrees/{name}/comments", { params: this.params(), body }));
    if (await this.sending.run(send)) {
      this.drop(at);
      await this.comments.refresh();
    }
  }
}

/** Who has received the comment. */
export function reached(comment: CommentView): string {
  if (comment.heard_by.length > 0) return `read by ${comment.heard_by.join(", ")}`;
  return comment.to ? `sent to ${comment.to}` : "waits for the next agent";
}
