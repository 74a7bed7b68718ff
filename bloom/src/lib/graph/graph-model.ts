//! The nodes and edges of a brief's graph, without layout.
import type { BriefView, LinkView } from "../api";
import { humanize } from "../format";
import { statusTone, type Tone } from "../tones";
import { homeProject, worktreeHref } from "../worktree/worktree-href";

interface GraphNode {
  id: string;
  label: string;
  /** In small, under the label. */
  note: string;
  href: string;
  tone: Tone;
}

interface GraphEdge {
  from: string;
  to: string;
  sort: "needs" | "part" | "link";
}

export interface GraphModel {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

type Brief = Pick<
  BriefView,
  "number" | "title" | "status" | "epic" | "depends_on" | "dependents" | "links" | "projects"
>;

/** Briefs that stand next to this one in the graph. */
export function neighbours(brief: Brief): number[] {
  const linked = brief.links.filter((link) => link.kind === "brief").map((link) => Number(link.target));
  return [...new Set([...brief.depends_on, ...brief.dependents, ...(brief.epic ? [brief.epic] : []), ...linked])];
}

/** Edges lead from a brief to those that depend on it. Edges to briefs outside the graph are left out. */
export function graphModel(briefs: Brief[], centre: number): GraphModel {
  const known = new Set(briefs.map((brief) => brief.number));
  const nodes = new Map<string, GraphNode>();
  const edges: GraphEdge[] = [];
  for (const brief of briefs) {
    nodes.set(id(brief.number), {
      id: id(brief.number),
      label: `#${brief.number} ${brief.title}`,
      note: humanize(brief.status),
      href: `/briefs/${brief.number}`,
      tone: statusTone(brief.status),
    });
    for (const needs of brief.depends_on)
      if (known.has(needs)) edges.push({ from: id(needs), to: id(brief.number), sort: "needs" });
    if (brief.epic && known.has(brief.epic)) edges.push({ from: id(brief.epic), to: id(brief.number), sort: "part" });
    for (const link of brief.links) {
      if (link.kind === "brief" && known.has(Number(link.target)))
        edges.push({ from: id(brief.number), to: id(Number(link.target)), sort: "link" });
      const place = brief.number === centre ? placeOf(link, homeProject(brief)) : undefined;
      if (place) {
        nodes.set(place.id, place);
        edges.push({ from: id(brief.number), to: place.id, sort: "link" });
      }
    }
  }
  return { nodes: [...nodes.values()], edges: once(edges) };
}

const id = (number: number): string => `brief ${number}`;

function placeOf(link: LinkView, project: string | undefined): GraphNode | undefined {
  const { kind, target } = link;
  if (kind === "worktree") {
    const href = worktreeHref(target, project);
    return { id: `worktree ${target}`, label: target, note: "worktree", href, tone: "info" };
  }
  if (kind === "landing" && /^\d+$/.test(target)) {
    return {
      id: `landing ${target}`,
      label: `Landing ${target}`,
      note: "landing",
      href: `/landing/${target}`,
      tone: "success",
    };
  }
  return undefined;
}

function once(edges: GraphEdge[]): GraphEdge[] {
  return [...new Map(edges.map((edge) => [`${edge.from}>${edge.to}>${edge.sort}`, edge])).values()];
}

/** As many characters as a box has room for. */
export function short(text: string, max: number): string {
  const all = Array.from(text);
  return all.length <= max
    ? text
    : `${all
        .slice(0, max - 1)
        .join("")
        .trimEnd()}…`;
}
