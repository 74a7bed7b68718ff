//! The entries of the palette and their order.
import type { Status } from "../api";
import { findBriefs } from "../brief/find-briefs";
import { elsewhere, type BriefRow, type Hit } from "../brief/brief-row";
import { fuzzyMatch } from "./fuzzy-match";
import { marksFromCharacters } from "./highlight";

/** Something that has to be said or confirmed first. */
export interface Prompt {
  title: string;
  /** What will happen. */
  about: string;
  label: string;
  confirm: string;
  danger: boolean;
  done: string;
  run: (text: string) => Promise<unknown>;
}

export interface PaletteEntry {
  id: string;
  title: string;
  group: string;
  /** Names an icon. */
  icon: string;
  /** Stands quietly behind the title. */
  about?: string;
  aboutMarks?: [number, number][];
  keys?: string;
  status?: Status;
  /** More words that find the entry. */
  also?: string;
  /** Listed only when searched for: a step that is usually taken with a key. */
  minor?: boolean;
  run?: () => void;
  prompt?: Prompt;
}

interface Ranked extends PaletteEntry {
  marks: [number, number][];
  score: number;
}

interface Section {
  name: string;
  entries: Ranked[];
}

const MAX_PER_GROUP = 6;
const MAX_RECENT = 5;
/** What was used before is likely meant again. */
const USED = 6;
/** A word that is not in the title counts less. */
const ALSO = 0.5;
/** Where nothing was typed, only these are shown, in this order. */
const AT_FIRST = ["Actions", "This page", "Go to"];

/** The best of each group, the group with the best one first; with nothing typed, what was used last. */
export function sections(entries: PaletteEntry[], typed: string, recent: string[]): Section[] {
  if (!typed.trim()) return atFirst(entries, recent);
  const groups = new Map<string, Ranked[]>();
  for (const entry of entries) {
    const ranked = rank(entry, typed, recent);
    if (ranked) groups.set(entry.group, [...(groups.get(entry.group) ?? []), ranked]);
  }
  return [...groups]
    .map(([name, own]) => ({ name, entries: best(own) }))
    .sort((a, b) => (b.entries[0]?.score ?? 0) - (a.entries[0]?.score ?? 0));
}

/** Where something stands now; it may have come under another heading. -1 when it is gone. */
export function indexOfEntry(
  flat: { entry: PaletteEntry; section: string }[],
  one: { id: string; section: string },
): number {
  const own = (each: { entry: PaletteEntry }) => each.entry.id === one.id;
  const exact = flat.findIndex((each) => own(each) && each.section === one.section);
  return exact >= 0 ? exact : flat.findIndex(own);
}

function rank(entry: PaletteEntry, typed: string, recent: string[]): Ranked | undefined {
  const byTitle = fuzzyMatch(typed, entry.title);
  const byAll = byTitle ?? (entry.also ? fuzzyMatch(typed, `${entry.title} ${entry.also}`) : undefined);
  if (!byAll) return undefined;
  const score = byTitle ? byTitle.score : byAll.score * ALSO;
  return { ...entry, marks: byTitle?.marks ?? [], score: score + (recent.includes(entry.id) ? USED : 0) };
}

function best(entries: Ranked[]): Ranked[] {
  return entries.sort((a, b) => b.score - a.score).slice(0, MAX_PER_GROUP);
}

function atFirst(entries: PaletteEntry[], recent: string[]): Section[] {
  const plain = (entry: PaletteEntry): Ranked => ({ ...entry, marks: [], score: 0 });
  const wanted = (id: string) => entries.find((entry) => entry.id === id && !entry.minor) ?? [];
  const used = recent.flatMap(wanted).slice(0, MAX_RECENT);
  const rest = entries.filter((entry) => !used.includes(entry));
  return [
    { name: "Recent", entries: used.map(plain) },
    ...AT_FIRST.map((name) => ({
      name,
      entries: rest.filter((entry) => entry.group === name && !entry.minor).map(plain),
    })),
  ].filter((section) => section.entries.length > 0);
}

type Go = (number: number) => () => void;

export function briefEntry(row: BriefRow, go: Go, project?: string): PaletteEntry {
  const { number, title, kind, status } = row;
  const about = [`#${number}`, elsewhere(row, project)].filter(Boolean).join(" · ");
  return { id: `brief:${number}`, title, group: "Briefs", icon: kind, about, status, run: go(number) };
}

/** The briefs that fit best, of all projects. */
export function briefsFor(rows: BriefRow[], typed: string, recent: string[], go: Go, project?: string): Section {
  const used = new Set(recent);
  const liked = (row: BriefRow) => (used.has(`brief:${row.number}`) ? USED : 0);
  const few = findBriefs(rows, typed, MAX_PER_GROUP, liked);
  const entries = few.map(({ row, marks, score }) => ({ ...briefEntry(row, go, project), marks, score }));
  return { name: "Briefs", entries };
}

/** Results of the daemon that are not shown already. They come last, because they arrive last. */
export function hitsFor(
  hits: Hit[],
  shown: Set<string>,
  statusOf: (number: number) => Status | undefined,
  go: Go,
): Section {
  const entries: Ranked[] = [];
  for (const hit of hits) {
    const id = `brief:${hit.brief}`;
    if (!hit.brief || shown.has(id)) continue;
    shown.add(id);
    const marks = marksFromCharacters(hit.snippet, hit.marks);
    const inTitle = hit.where === "title";
    entries.push({
      id,
      title: hit.title,
      group: "Found inside",
      icon: "found",
      about: inTitle ? `#${hit.brief}` : `#${hit.brief} ${hit.where}: ${hit.snippet}`,
      aboutMarks: inTitle ? [] : shifted(marks, `#${hit.brief} ${hit.where}: `.length),
      status: statusOf(hit.brief),
      marks: inTitle && hit.snippet === hit.title ? marks : [],
      score: 0,
      run: go(hit.brief),
    });
  }
  return { name: "Found inside", entries: entries.slice(0, MAX_PER_GROUP) };
}

function shifted(marks: [number, number][], by: number): [number, number][] {
  return marks.map(([start, length]) => [start + by, length]);
}
