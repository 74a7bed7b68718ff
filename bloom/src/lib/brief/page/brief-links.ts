//! The links of a brief: their order, and where they lead.
import type { BriefView, LinkKind, LinkView } from "../../api";
import { linkHref } from "../../trace/event-text";
import { commitHref, homeProject } from "../../worktree/worktree-href";

const RANK: Record<LinkKind, number> = {
  worktree: 0,
  branch: 1,
  landing: 2,
  commit: 3,
  scratchpad: 4,
  execution: 5,
  brief: 6,
  file: 7,
  address: 8,
};

export interface Group {
  kind: LinkKind;
  links: LinkView[];
}

/** By kind, newest first; kinds that are not known here come last. */
export function linksByKind(links: LinkView[]): Group[] {
  const groups = new Map<LinkKind, LinkView[]>();
  for (const link of links) groups.set(link.kind, [...(groups.get(link.kind) ?? []), link]);
  const rank = (kind: LinkKind) => RANK[kind] ?? 9;
  return [...groups]
    .map(([kind, all]) => ({ kind, links: all.sort((a, b) => b.at.localeCompare(a.at)) }))
    .sort((a, b) => rank(a.kind) - rank(b.kind));
}

/** The number of the scratchpad that a link leads to, however it is linked. */
export function scratchpadOf(link: Pick<LinkView, "kind" | "target">): number | undefined {
  const found =
    link.kind === "scratchpad" ? /^(\d+)$/ : link.kind === "execution" ? /^scratchpad[/:# ]*(\d+)$/i : undefined;
  const number = found?.exec(link.target)?.[1];
  return number ? Number(number) : undefined;
}

type Linked = Pick<BriefView, "links" | "projects" | "participants">;

/** Where a link leads, if this page knows the place. */
export function hrefOf(link: LinkView, brief: Linked): string | undefined {
  if (link.kind !== "commit") return linkHref(link.kind, link.target, homeProject(brief));
  return landingAfter(link, brief) ?? inWorktree(link, brief);
}

/** The first landing queued after the commit contains it. */
function landingAfter(link: LinkView, brief: Linked): string | undefined {
  const after = brief.links.filter((one) => one.kind === "landing" && Date.parse(one.at) >= Date.parse(link.at));
  const first = after.sort((a, b) => a.at.localeCompare(b.at))[0];
  return first && linkHref(first.kind, first.target);
}

/** Not queued yet: it is in the worktree of the active participant, or of the last one. */
function inWorktree(link: LinkView, brief: Linked): string | undefined {
  const linked = brief.links.filter((one) => one.kind === "worktree").sort((a, b) => b.at.localeCompare(a.at))[0];
  const at = brief.participants.find((one) => one.active && one.worktree)?.worktree ?? linked?.target;
  // An abbreviated id may be ambiguous.
  return at && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(link.target)
    ? commitHref(at, homeProject(brief), link.target)
    : undefined;
}

/** What each kind wants as its target. */
export const LINK_TARGET_HINTS: Record<LinkKind, string> = {
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
