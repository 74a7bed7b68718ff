//! A brief in one line of a list: what the daemon tells of it, in a shape of its own.
import type { BriefKind, BriefView, SearchHit, Status } from "../api";

export interface BriefRow {
  number: number;
  title: string;
  kind: BriefKind;
  status: Status;
  epic: number | undefined;
  projects: string[];
  questions: number;
  /** It can be built now. */
  ready: boolean;
  updated: string;
}

/** As `/api/brief-rows` gives it, or as much of a whole brief as a line needs. */
export type Told = Pick<BriefView, "number" | "title" | "kind" | "status" | "updated_at"> & {
  epic?: number | null;
  projects?: (string | { name: string })[];
  open_questions?: number | number[];
  ready?: boolean;
  dispatchable?: { ok: boolean };
};

export function rowOf(told: Told): BriefRow {
  const questions = told.open_questions ?? 0;
  return {
    number: told.number,
    title: told.title,
    kind: told.kind,
    status: told.status,
    epic: told.epic ?? undefined,
    projects: (told.projects ?? []).map((project) => (typeof project === "string" ? project : project.name)),
    questions: typeof questions === "number" ? questions : questions.length,
    ready: told.ready ?? (told.status === "planned" && (told.dispatchable?.ok ?? false)),
    updated: told.updated_at,
  };
}

/** What a search found. */
export type Hit = Omit<SearchHit, "marks"> & { marks: number[][] };

export interface Family {
  children: number;
  settled: number;
}

/** How many children each epic has, and how many of them are through. */
export function families(rows: Iterable<BriefRow>): Map<number, Family> {
  const found = new Map<number, Family>();
  for (const row of rows) {
    if (row.epic === undefined) continue;
    const family = found.get(row.epic) ?? { children: 0, settled: 0 };
    family.children += 1;
    if (row.status === "landed" || row.status === "done") family.settled += 1;
    found.set(row.epic, family);
  }
  return found;
}
