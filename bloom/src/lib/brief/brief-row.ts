//! A brief in one line of a list: what the daemon tells of it, in a shape of its own.
import type { BriefKind, BriefRow as Told, SearchHit, Status } from "../api";
import { isMet } from "./brief-status";

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

export function rowOf(told: Told): BriefRow {
  return {
    number: told.number,
    title: told.title,
    kind: told.kind,
    status: told.status,
    epic: told.epic ?? undefined,
    projects: told.projects,
    questions: told.open_questions,
    ready: told.ready,
    updated: told.updated_at,
  };
}

/** The projects of a brief that is not in the current project. */
export function elsewhere(row: BriefRow, project: string | undefined): string {
  return project && !row.projects.includes(project) ? row.projects.join(", ") : "";
}

/** What a search found. */
export type Hit = Omit<SearchHit, "marks"> & { marks: number[][] };

export interface Family {
  children: number;
  settled: number;
}

/** The number of children of each epic, and of those that are landed or done. */
export function families(rows: Iterable<BriefRow>): Map<number, Family> {
  const found = new Map<number, Family>();
  for (const row of rows) {
    if (row.epic === undefined) continue;
    const family = found.get(row.epic) ?? { children: 0, settled: 0 };
    family.children += 1;
    if (isMet(row.status)) family.settled += 1;
    found.set(row.epic, family);
  }
  return found;
}
