//! Drafts of comments, kept for as long as this tab is open.

export interface CommentDraft {
  text: string;
  /** The line that it is about, as it was read. */
  quote: string;
}

const KEY = "flower.comments";
/** Older ones are forgotten. */
const MAX_DRAFTS = 100;
/** Browsers give a page about 5 MB; a comment is a few lines. */
const MAX_STORED = 512 * 1024;

/** Worktree, position and draft. */
type Kept = [string, string, CommentDraft];

function isKept(one: unknown): one is Kept {
  if (!Array.isArray(one)) return false;
  const draft = one[2] as CommentDraft | null | undefined;
  return typeof one[0] === "string" && typeof draft?.text === "string" && typeof draft.quote === "string";
}

function all(storage: Storage): Kept[] {
  try {
    const known: unknown = JSON.parse(storage.getItem(KEY) ?? "[]");
    return Array.isArray(known) ? known.filter(isKept) : [];
  } catch {
    return [];
  }
}

/** Those of a worktree, by place. */
export function commentDraftsOf(worktree: string, storage: Storage = sessionStorage): Record<string, CommentDraft> {
  return Object.fromEntries(all(storage).flatMap(([of, at, draft]) => (of === worktree ? [[at, draft] as const] : [])));
}

/** Keeps one, or forgets it. What there is no room for is only not kept. */
export function keepCommentDraft(
  worktree: string,
  at: string,
  draft?: CommentDraft,
  storage: Storage = sessionStorage,
): void {
  const others = all(storage).filter(([of, place]) => of !== worktree || place !== at);
  let kept = draft?.text.trim() ? [...others, [worktree, at, draft] satisfies Kept] : others;
  kept = kept.slice(-MAX_DRAFTS);
  let text = JSON.stringify(kept);
  while (text.length > MAX_STORED) {
    kept = kept.slice(1);
    text = JSON.stringify(kept);
  }
  try {
    storage.setItem(KEY, text);
  } catch {
    // It is still there, until the page is left.
  }
}
