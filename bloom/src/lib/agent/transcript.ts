//! Joins the entries of a transcript into items.
import type { Entry, EntryDiff, PlanStep, ToolStatus } from "../api";

export interface Item {
  key: string;
  at: string;
  kind: Entry["kind"];
  text: string;
  /** Of a tool: what it printed, where it stands, what it touched. Its text is the title. */
  output?: string;
  status?: ToolStatus;
  paths?: string[];
  diffs?: EntryDiff[];
  /** Of a plan; absent if an older flower wrote it. */
  steps?: PlanStep[];
}

/** Older ones go when more come. */
export const MAX_ITEMS = 20_000;
/** Of one item that grows. */
const MAX_TEXT = 200_000;

/** Joins entries into items. An item that grows is a new object, so that only it is drawn again. */
export class Items {
  private items: Item[] = [];
  private calls = new Map<string, number>();
  private keys = new Map<string, number>();
  /** How many were let go at the front. */
  dropped = 0;

  take(entries: Entry[]): Item[] {
    for (const entry of entries) this.add(entry);
    if (this.items.length > MAX_ITEMS * 1.1) this.shorten();
    return [...this.items];
  }

  private add(entry: Entry): void {
    const last = this.items.at(-1);
    if (entry.kind === "tool" && entry.call) {
      const known = this.calls.get(entry.call);
      const before = known === undefined ? undefined : this.items[known];
      if (known !== undefined && before) this.items[known] = toolAfter(before, entry);
      else {
        this.calls.set(entry.call, this.items.length);
        this.items.push(toolAfter({ key: this.key(entry), at: entry.at, kind: "tool", text: "" }, entry));
      }
    } else if (last?.kind === entry.kind && flows(entry.kind) && last.text.length < MAX_TEXT) {
      const gap = entry.continues || /\s$/.test(last.text) ? "" : isLines(entry.kind) ? "\n" : "\n\n";
      this.items[this.items.length - 1] = { ...last, text: last.text + gap + entry.text };
    } else {
      const { at, kind, text, steps } = entry;
      this.items.push({ key: this.key(entry), at, kind, text, ...(steps?.length ? { steps } : {}) });
    }
  }

  /** Times are nearly always different; where they are not, a number tells them apart. */
  private key(entry: Entry): string {
    const name = `${entry.at} ${entry.kind}`;
    const many = this.keys.get(name) ?? 0;
    this.keys.set(name, many + 1);
    return many === 0 ? name : `${name} ${many}`;
  }

  private shorten(): void {
    const gone = this.items.length - MAX_ITEMS;
    this.items = this.items.slice(gone);
    this.dropped += gone;
    this.keys.clear();
    this.items.forEach((item) => this.keys.set(item.key, 1));
    this.calls = new Map([...this.calls].flatMap(([call, at]) => (at >= gone ? [[call, at - gone] as const] : [])));
  }
}

/** Kinds whose consecutive entries are parts of one text. */
function flows(kind: Entry["kind"]): boolean {
  return kind === "said" || kind === "thought" || isLines(kind);
}

/** Kinds whose entries are lines. */
function isLines(kind: Entry["kind"]): boolean {
  return kind === "noise" || kind === "output";
}

function toolAfter(before: Item, entry: Entry): Item {
  return {
    ...before,
    text: entry.title || before.text,
    output: entry.output || before.output,
    status: entry.status ?? before.status,
    paths: entry.paths?.length ? entry.paths : before.paths,
    diffs: entry.diffs?.length ? [...(before.diffs ?? []), ...entry.diffs] : before.diffs,
  };
}

/** Paths relative to their worktree, `project/name`. */
export function relativeToWorktree(text: string, worktree: string | undefined): string {
  if (!worktree || !text.includes(`/${worktree}/`)) return text;
  return text
    .split(/(\s+)/)
    .map((word) => {
      const at = word.lastIndexOf(`/${worktree}/`);
      return at < 0 ? word : word.slice(at + worktree.length + 2);
    })
    .join("");
}
