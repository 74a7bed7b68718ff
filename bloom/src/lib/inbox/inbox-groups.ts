//! The groups of the inbox, and texts of notifications.
import type { InboxItem, ItemKind } from "../api";
import { sortInbox } from "./inbox-items";

export interface InboxGroup {
  kind: ItemKind;
  title: string;
  items: InboxItem[];
}

/** In the order of urgency. */
const TITLES: Record<ItemKind, string> = {
  alarm: "Alarms",
  permission: "Permissions",
  question: "Questions",
  approval: "Approvals",
  message: "Messages",
};
const VERBS: Record<ItemKind, string> = {
  alarm: "Alarm",
  permission: "asks for permission",
  question: "asks",
  approval: "waits for you",
  message: "writes",
};

/** Oldest first in each, so that new items move no others. Unknown kinds get a group of their own. */
export function inboxGroups(items: InboxItem[]): InboxGroup[] {
  const titles = new Map(Object.entries(TITLES) as [ItemKind, string][]);
  for (const item of items) if (!titles.has(item.kind)) titles.set(item.kind, item.kind);
  return [...titles]
    .map(([kind, title]) => ({
      kind,
      title,
      items: sortInbox(items.filter((item) => item.kind === kind)),
    }))
    .filter((group) => group.items.length > 0);
}

/** What a notification says. Agents' texts can be long. */
export function notificationText(item: InboxItem): { title: string; body: string } {
  const who = item.by.type === "system" ? "flower" : item.by.name;
  const what = VERBS[item.kind] ?? "waits for you";
  const title = item.kind === "alarm" || item.kind === "approval" ? `${item.title}: ${what}` : `${who} ${what}`;
  return {
    title: short(title, 80),
    body: short(item.kind === "question" ? `${item.title}\n${item.text}` : item.text, 200),
  };
}

function short(text: string, max: number): string {
  const characters = [...text.slice(0, max * 4)];
  return characters.length > max ? `${characters.slice(0, max).join("")}…` : text;
}
