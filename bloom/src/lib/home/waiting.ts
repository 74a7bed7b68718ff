//! What waits for the operator: what it is called, where it leads, and what comes first.
import type { InboxItem } from "../api";

/** The same for the same matter, however often the inbox is read. */
export function keyOf(item: InboxItem): string {
  const number = item.permission ?? item.question ?? item.landing ?? item.seq;
  return [item.kind, item.brief, number, number ? "" : `${item.title} ${item.at}`].join("/");
}

const RANK: Record<string, number> = { alarm: 0, message: 2 };

/** Alarms first and messages last; among equals, the newest first. */
export function urgentFirst(items: InboxItem[]): InboxItem[] {
  const rank = (item: InboxItem) => RANK[item.kind] ?? 1;
  return items.toSorted((a, b) => rank(a) - rank(b) || b.at.localeCompare(a.at));
}

/** Whose MAIN it is about, or which agent. */
export function subjectOf(item: InboxItem): { project?: string; agent?: string } {
  const speaker = item.by.type === "agent" ? item.by.name : undefined;
  return { project: item.project ?? undefined, agent: item.agent ?? speaker };
}

/** Where one reads more about it. */
export function placeOf(item: InboxItem): string {
  const about = subjectOf(item);
  if (item.landing) return `/landing/${item.landing}`;
  if (item.kind === "alarm" && about.project) return "/";
  if ((item.kind === "alarm" || item.kind === "message" || !item.brief) && about.agent)
    return `/agents/${encodeURIComponent(about.agent)}`;
  return item.brief ? `/briefs/${item.brief}` : "/inbox";
}

/** What it asks for, in a word or two. */
export function askOf(item: InboxItem): string {
  if (item.kind === "approval") return item.landing ? "landing held" : "to accept";
  return item.kind;
}
