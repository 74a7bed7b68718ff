//! Which events are looked at, kept in the address.
import type { EventView } from "../api";

export interface Filter {
  group: string;
  /** `agent/play-1`, or a type alone as `agent/`. */
  actor: string;
  brief: number | undefined;
  /** Unset is the project that the page looks at. */
  project: string | undefined;
  text: string;
}

/** What an event is about, by how its kind begins or what it is. */
const GROUPS: [string, string, RegExp][] = [
  ["talk", "Questions and comments", /^(question_|decision_|comment_|note_|message_|permission_)/],
  ["landings", "Landings and MAIN", /^(landing_|landed$|rolled_back|checks_ran|check_|main_|queue_|push)/],
  ["dispatches", "Dispatches", /^(dispatch_|lease_|wave_)/],
  ["agents", "Agents", /^(agent_|participant_|token_|call_refused)/],
  ["worktrees", "Worktrees", /^(worktree_)/],
  ["briefs", "Briefs", /^(brief_|kind_|status_|plan_|refinement|spec_|epic_|dependency_|link_|scratchpad_|projects_)/],
];
export const GROUP_NAMES: [string, string][] = [
  ...GROUPS.map(([id, name]): [string, string] => [id, name]),
  ["other", "Other"],
];

export function groupOf(kind: string): string {
  return GROUPS.find(([, , pattern]) => pattern.test(kind))?.[0] ?? "other";
}

export function fromAddress(params: URLSearchParams): Filter {
  const group = params.get("group") ?? "";
  const brief = Number(params.get("brief"));
  return {
    group: GROUP_NAMES.some(([id]) => id === group) ? group : "",
    actor: params.get("actor") ?? "",
    brief: Number.isSafeInteger(brief) && brief > 0 ? brief : undefined,
    project: params.get("project") ?? undefined,
    text: params.get("q") ?? "",
  };
}

export function toAddress(filter: Filter): string {
  const parts: [string, string][] = [
    ["group", filter.group],
    ["actor", filter.actor],
    ["brief", filter.brief ? String(filter.brief) : ""],
    ["project", filter.project ?? ""],
    ["q", filter.text.trim()],
  ];
  const params = new URLSearchParams(parts.filter(([, value]) => value));
  return params.size > 0 ? `?${params}` : "";
}

/** Whether something is left out that the daemon has given; a brief's trace and a project's are asked for, not sifted. */
export function sifts(filter: Filter): boolean {
  return Boolean(filter.group || filter.actor || filter.text.trim());
}

export function keeps(filter: Filter): (event: EventView) => boolean {
  const words = filter.text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const [type, name] = filter.actor.split(/\/(.*)/s);
  return (event) => {
    if (filter.group && groupOf(event.kind) !== filter.group) return false;
    if (filter.actor && (event.actor.type !== type || (name && event.actor.name !== name))) return false;
    if (words.length === 0) return true;
    const text = textOf(event);
    return words.every((word) => text.includes(word));
  };
}

/** Made once for each event, because it is looked through with every key. */
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

/** Who acted in what is loaded, by type and name. */
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

export type Line = { day: string } | { event: EventView };

/** Events under the day they happened on, newest first. */
export function byDay(events: EventView[], dayOf: (event: EventView) => string): Line[] {
  const lines: Line[] = [];
  let last = "";
  for (const event of events) {
    const day = dayOf(event);
    if (day !== last) lines.push({ day });
    last = day;
    lines.push({ event });
  }
  return lines;
}
