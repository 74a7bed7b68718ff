//! Items of the inbox: key, label, link and order.
import type { InboxItem, ItemKind } from "../api";

/** The same for the same matter, however often the inbox is read. */
export function inboxKey(item: InboxItem): string {
  const number = item.permission ?? item.question ?? item.landing ?? item.seq;
  return [item.kind, item.brief, number, number ? "" : `${item.title} ${item.at}`].join("/");
}

const RANK: Record<ItemKind, number> = { alarm: 0, permission: 1, question: 2, approval: 2, message: 3 };

/** The nearest deadline first, then the oldest: new items come after the ones being read. */
export function sortInbox(items: InboxItem[]): InboxItem[] {
  const due = (item: InboxItem) => (item.until ? Date.parse(item.until) : Infinity);
  // Two items without a deadline are equal: Infinity minus Infinity is NaN.
  return items.toSorted((a, b) => due(a) - due(b) || a.at.localeCompare(b.at));
}

/** The most urgent items: alarms, then permissions; messages last. */
export function mostUrgent(items: InboxItem[], max: number): InboxItem[] {
  const rank = (item: InboxItem) => RANK[item.kind] ?? 2;
  const sorted = sortInbox(items).sort((a, b) => rank(a) - rank(b));
  const first = sorted.slice(0, max);
  // However many alarms there are, what is about to be denied is among them.
  const late = sorted.filter((item) => item.until && !first.includes(item));
  const due = first.filter((item) => item.until).length;
  const added = late.slice(0, Math.max(Math.floor(max / 2) - due, 0));
  return [...first.slice(0, max - added.length), ...added];
}

/** The newest message among them: so far they are seen. */
export function newestMessage(items: InboxItem[]): number | undefined {
  const seqs = items.flatMap((item) => (item.kind === "message" && item.seq ? [item.seq] : []));
  return seqs.length > 0 ? Math.max(...seqs) : undefined;
}

/** Whose MAIN it is about, or which agent. */
export function inboxSubject(item: InboxItem): { project?: string; agent?: string } {
  const speaker = item.by.type === "agent" ? item.by.name : undefined;
  return { project: item.project ?? undefined, agent: item.agent ?? speaker };
}

/** Where one reads more about it. */
export function inboxHref(item: InboxItem): string {
  const about = inboxSubject(item);
  if (item.landing) return `/landing/${item.landing}`;
  if (item.kind === "alarm" && about.project) return "/";
  if ((item.kind === "alarm" || item.kind === "message" || !item.brief) && about.agent)
    return `/agents/${encodeURIComponent(about.agent)}`;
  return item.brief ? `/briefs/${item.brief}` : "/inbox";
}

/** What it asks for, in a word or two. */
export function inboxLabel(item: InboxItem): string {
  if (item.cause === "help_asked") return "asks for help";
  if (item.kind === "approval") return item.landing ? "landing held" : "to accept";
  return item.kind;
}
