//! Links in the order in which they are looked for.
import type { LinkView } from "../api";

const ORDER = ["worktree", "branch", "landing", "commit", "scratchpad", "execution", "brief", "file", "address"];

export interface Group {
  kind: string;
  links: LinkView[];
}

/** By kind, newest first; kinds that are not known here come last. */
export function byKind(links: LinkView[]): Group[] {
  const groups = new Map<string, LinkView[]>();
  for (const link of links) groups.set(link.kind, [...(groups.get(link.kind) ?? []), link]);
  const rank = (kind: string) => (ORDER.indexOf(kind) + ORDER.length + 1) % (ORDER.length + 1);
  return [...groups]
    .map(([kind, all]) => ({ kind, links: all.sort((a, b) => b.at.localeCompare(a.at)) }))
    .sort((a, b) => rank(a.kind) - rank(b.kind));
}

/** The number of the scratchpad that a link leads to, however it is linked. */
export function scratchpadOf(link: Pick<LinkView, "kind" | "target">): number | undefined {
  const found =
    link.kind === "scratchpad" ? /^(\d+)$/ : link.kind === "execution" ? /^scratchpad[\/:# ]*(\d+)$/i : undefined;
  const number = found?.exec(link.target)?.[1];
  return number ? Number(number) : undefined;
}

/** What each kind wants as its target. */
export const WANTED: Record<string, string> = {
  commit: "7 to 64 hexadecimal digits",
  branch: "a branch, such as feature/cart",
  worktree: "the name of a worktree",
  landing: "the number of a landing",
  scratchpad: "the number of a scratchpad",
  brief: "the number of a brief",
  file: "a path in the repository",
  address: "https://…",
  execution: "what was run",
};
