//! The filter of the list of briefs. It is kept in the address.
import type { BriefKind, Status } from "../api";
import { ALL_PROJECTS } from "../projects";
import { humanize } from "../format";
import type { BriefRow, Hit } from "./brief-row";
import { isClosed } from "./brief-status";

/** In the order of the list: the most urgent first. */
export const STATUSES: Status[] = [
  "in_review",
  "in_progress",
  "planned",
  "draft",
  "parked",
  "landed",
  "done",
  "cancelled",
];
/** In the order in which a brief goes through them. */
export const COLUMNS: Status[] = [
  "draft",
  "planned",
  "in_progress",
  "in_review",
  "landed",
  "done",
  "parked",
  "cancelled",
];
export const KINDS: BriefKind[] = ["feature", "fix", "research", "note", "epic", "incident"];

export interface BriefFilter {
  text: string;
  /** Includes closed briefs. */
  all: boolean;
  status: Status | undefined;
  kind: BriefKind | undefined;
  /** Unset is the project that the page looks at. */
  project: string | undefined;
  ready: boolean;
  mine: boolean;
  order: "newest" | "changed";
}

export function fromAddress(params: URLSearchParams): BriefFilter {
  const one = <T extends string>(name: string, known: readonly T[]) =>
    known.find((value) => value === params.get(name));
  return {
    text: params.get("q") ?? "",
    all: params.get("show") === "all",
    status: one("status", STATUSES),
    kind: one("kind", KINDS),
    project: params.get("project") ?? undefined,
    ready: params.has("ready"),
    mine: params.has("mine"),
    order: params.get("order") === "changed" ? "changed" : "newest",
  };
}

/** `?status=planned&ready`, or nothing. */
export function toAddress(filter: BriefFilter): string {
  const parts: [string, string | undefined][] = [
    ["q", filter.text.trim() || undefined],
    ["show", filter.all ? "all" : undefined],
    ["status", filter.status],
    ["kind", filter.kind],
    ["project", filter.project],
    ["ready", filter.ready ? "1" : undefined],
    ["mine", filter.mine ? "1" : undefined],
    ["order", filter.order === "changed" ? "changed" : undefined],
  ];
  const params = new URLSearchParams(parts.filter((part): part is [string, string] => part[1] !== undefined));
  return params.size > 0 ? `?${params}` : "";
}

/** Whether anything but the text is chosen. */
export function isNarrowed(filter: BriefFilter): boolean {
  return Boolean(filter.status ?? filter.kind ?? filter.project) || filter.ready || filter.mine;
}

/** Whether a brief passes the filter, its text aside. A search includes closed briefs. */
export function keeps(filter: BriefFilter, row: BriefRow, project: string | undefined, waiting: Set<number>): boolean {
  const wanted = filter.project ?? project;
  if (wanted && wanted !== ALL_PROJECTS && row.projects.length > 0 && !row.projects.includes(wanted)) return false;
  if (filter.status ? row.status !== filter.status : !filter.all && !filter.text.trim() && isClosed(row.status))
    return false;
  if (filter.kind && row.kind !== filter.kind) return false;
  if (filter.ready && !row.ready) return false;
  return !filter.mine || row.questions > 0 || waiting.has(row.number);
}

/** Whether the title has every word, or the number begins so: `12`, `#12`. */
export function titleHas(text: string): (row: BriefRow) => boolean {
  const typed = text.trim().toLowerCase();
  const number = /^#?(\d+)$/.exec(typed)?.[1];
  const words = typed.split(/\s+/);
  return (row) => {
    if (number && String(row.number).startsWith(number)) return true;
    const title = row.title.toLowerCase();
    return words.every((word) => title.includes(word));
  };
}

export interface BriefListHeading {
  head: string;
  title: string;
  count: number;
  status?: Status;
}
export type BriefListLine = BriefListHeading | { row: BriefRow; hit?: Hit };

/** Rows under a heading for each status that has some. */
export function grouped(rows: BriefRow[], order: BriefFilter["order"]): BriefListLine[] {
  const by = byStatus(rows, order);
  return STATUSES.flatMap((status) => {
    const own = by.get(status) ?? [];
    if (own.length === 0) return [];
    const head = { head: status, title: humanize(status), count: own.length, status };
    return [head, ...own.map((row) => ({ row }))];
  });
}

/** What a search found: by title at once, then what else the daemon finds, best first. */
export function found(
  titled: BriefRow[],
  hits: Hit[],
  known: (number: number) => BriefRow | undefined,
): BriefListLine[] {
  const shown = new Set(titled.map((row) => row.number));
  const inside: BriefListLine[] = [];
  for (const hit of hits) {
    const row = hit.brief ? known(hit.brief) : undefined;
    if (!row || shown.has(row.number)) continue;
    shown.add(row.number);
    inside.push({ row, hit });
  }
  const part = (head: string, title: string, lines: BriefListLine[]): BriefListLine[] =>
    lines.length > 0 ? [{ head, title, count: lines.length }, ...lines] : [];
  const byTitle = titled.map((row): BriefListLine => ({ row, hit: hits.find((hit) => isTitleOf(hit, row)) }));
  return [...part("titles", "In titles", byTitle), ...part("inside", "In specs, traces and scratchpads", inside)];
}

function isTitleOf(hit: Hit, row: BriefRow): boolean {
  return hit.brief === row.number && hit.where === "title" && hit.snippet === row.title;
}

export function byStatus(rows: BriefRow[], order: BriefFilter["order"]): Map<Status, BriefRow[]> {
  const found = new Map<Status, BriefRow[]>();
  for (const row of rows) {
    const own = found.get(row.status);
    if (own) own.push(row);
    else found.set(row.status, [row]);
  }
  if (order === "changed") for (const own of found.values()) own.sort((a, b) => b.updated.localeCompare(a.updated));
  return found;
}
