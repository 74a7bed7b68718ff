//! The filter of the trace. It is kept in the address.
import type { EventView, Topic } from "../api";
import { isTalk } from "./event-text";
import { topicOf } from "./event-topic";

export interface TraceFilter {
  group: string;
  /** `agent/play-1`, or a type alone as `agent/`. */
  actor: string;
  /** How it came in. */
  door: string;
  /** As in `2026-01-31`, in the time zone of the browser. */
  day: string;
  brief: number | undefined;
  /** Unset is the project that the page looks at. */
  project: string | undefined;
  text: string;
}

/** Categories of events. */
type Group = "talk" | "landings" | "dispatches" | "agents" | "worktrees" | "briefs" | "other";

export const GROUP_NAMES: [Group, string][] = [
  ["talk", "Questions and comments"],
  ["landings", "Landings and MAIN"],
  ["dispatches", "Dispatches"],
  ["agents", "Agents"],
  ["worktrees", "Worktrees"],
  ["briefs", "Briefs"],
  ["other", "Other"],
];

const GROUPS: Record<Topic, Group> = {
  agents: "agents",
  archives: "worktrees",
  briefs: "briefs",
  commands: "other",
  dispatches: "dispatches",
  inbox: "other",
  landings: "landings",
  leases: "dispatches",
  links: "briefs",
  log: "other",
  main: "landings",
  messages: "talk",
  permissions: "talk",
  projects: "other",
  questions: "talk",
  scratchpads: "briefs",
  specs: "briefs",
  spending: "agents",
  tokens: "agents",
  worktrees: "worktrees",
};

export const DOORS: [string, string][] = [
  ["web", "This page"],
  ["cli", "Command line"],
  ["mcp", "Agent tools (MCP)"],
  ["api", "API"],
  ["daemon", "flower itself"],
];

/** Comments and notes change the brief, and are talk all the same. */
export function groupOf(event: EventView): Group {
  return isTalk(event) ? "talk" : GROUPS[topicOf(event)];
}

export function fromAddress(params: URLSearchParams): TraceFilter {
  const group = params.get("group") ?? "";
  const brief = Number(params.get("brief"));
  return {
    group: GROUP_NAMES.some(([id]) => id === group) ? group : "",
    actor: params.get("actor") ?? "",
    door: DOORS.find(([id]) => id === params.get("door"))?.[0] ?? "",
    day: /^\d{4}-\d\d-\d\d$/.exec(params.get("day") ?? "")?.[0] ?? "",
    brief: Number.isSafeInteger(brief) && brief > 0 ? brief : undefined,
    project: params.get("project") ?? undefined,
    text: params.get("q") ?? "",
  };
}

export function toAddress(filter: TraceFilter): string {
  const parts: [string, string][] = [
    ["group", filter.group],
    ["actor", filter.actor],
    ["door", filter.door],
    ["day", filter.day],
    ["brief", filter.brief ? String(filter.brief) : ""],
    ["project", filter.project ?? ""],
    ["q", filter.text.trim()],
  ];
  const params = new URLSearchParams(parts.filter(([, value]) => value));
  return params.size > 0 ? `?${params}` : "";
}

/** Whether the page leaves out loaded events. The filters by brief and project are the daemon's. */
export function isFiltered(filter: TraceFilter): boolean {
  return Boolean(filter.group || filter.actor || filter.door || filter.day || filter.text.trim());
}

export function keeps(filter: TraceFilter): (event: EventView) => boolean {
  const words = filter.text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const [type, name] = filter.actor.split(/\/(.*)/s);
  return (event) => {
    if (filter.group && groupOf(event) !== filter.group) return false;
    if (filter.actor && (event.actor.type !== type || (name && event.actor.name !== name))) return false;
    if (filter.door && event.door !== filter.door) return false;
    if (filter.day && dayOf(event) !== filter.day) return false;
    if (words.length === 0) return true;
    const text = textOf(event);
    return words.every((word) => text.includes(word));
  };
}

/** Cached for each event, because every new event goes through all of them. */
const days = new WeakMap<EventView, string>();
/** As in `2026-01-31`, in the time zone of the browser. */
export function dayOf(event: EventView): string {
  let day = days.get(event);
  if (day === undefined) {
    const at = new Date(event.at);
    const two = (number: number) => String(number).padStart(2, "0");
    day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    days.set(event, day);
  }
  return day;
}

/** Whether no older event can match any more. */
export function isPast(filter: TraceFilter, oldest: EventView | undefined): boolean {
  return Boolean(filter.day && oldest && dayOf(oldest) < filter.day);
}

/** Cached for each event, because every typed key searches all of them. */
const texts = new WeakMap<EventView, string>();
function textOf(event: EventView): string {
  let text = texts.get(event);
  if (text === undefined) {
    const { seq, kind, actor } = event;
    text = `${seq} ${kind.replaceAll("_", " ")} ${kind} ${actor.name} ${event.said ?? ""}`.toLowerCase();
    texts.set(event, text);
  }
  return text;
}

/** The actors of the loaded events, by type and name. */
export function actorsOf(events: EventView[]): { type: string; names: string[] }[] {
  const found = new Map<string, Set<string>>();
  for (const { actor } of events) {
    const names = found.get(actor.type) ?? new Set();
    names.add(actor.name);
    found.set(actor.type, names);
  }
  return [...found]
    .map(([type, names]) => ({ type, names: [...names].sort() }))
    .sort((a, b) => (a.type < b.type ? 1 : -1));
}

export type TraceLine = { day: string } | { event: EventView };

/** Events under the day they happened on, newest first. */
export function byDay(events: EventView[], dayOf: (event: EventView) => string): TraceLine[] {
  const lines: TraceLine[] = [];
  let last = "";
  for (const event of events) {
    const day = dayOf(event);
    if (day !== last) lines.push({ day });
    last = day;
    lines.push({ event });
  }
  return lines;
}
