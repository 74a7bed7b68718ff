//! Name and target of each part of the picture, for tooltips, links and screen readers.
import { count, humanize } from "../format";
import { worktreeHref } from "../worktree/worktree-href";
import type { Bud, Fallen, Flower, Leaf, Shoot } from "./plant";

export interface StemItemText {
  what: string;
  name: string;
  more: string;
  href: string;
}

const briefs = (numbers: number[]) => numbers.map((number) => `#${number}`).join(" ");

export function flowerText(flower: Flower): StemItemText {
  const from = flower.worktree ? `from ${flower.worktree}` : "";
  return {
    what: flower.wilted ? "rolled back" : flower.landing ? "landed" : "commit",
    name: flower.title,
    more: [briefs(flower.briefs), from, flower.commit.slice(0, 10)].filter(Boolean).join(" · "),
    href: flower.landing ? `/landing/${flower.landing}` : "/landing",
  };
}

export function shootText(shoot: Shoot): StemItemText {
  const agents = shoot.leaves.length > 0 ? count(shoot.leaves.length, "agent") : "no agent";
  return {
    what: "worktree",
    name: shoot.name,
    more: [briefs(shoot.briefs), shoot.about, agents].filter(Boolean).join(" · "),
    href: worktreeHref(shoot.name, shoot.project),
  };
}

export function leafText(leaf: Leaf, shoot: Shoot): StemItemText {
  const fill = leaf.fill === undefined ? "context unknown" : `context ${Math.round(leaf.fill * 100)}% full`;
  return {
    what: "agent",
    name: leaf.name,
    more: `${leaf.state} in ${shoot.name} · ${fill}`,
    href: `/agents/${encodeURIComponent(leaf.name)}`,
  };
}

export function budText(bud: Bud): StemItemText {
  return {
    what: humanize(bud.state),
    name: bud.title,
    more: [bud.worktree ? `from ${bud.worktree}` : "", bud.reason].filter(Boolean).join(" · "),
    href: `/landing/${bud.landing}`,
  };
}

export function fallenText(fallen: Fallen): StemItemText {
  return { what: "rejected", name: fallen.title, more: fallen.reason, href: `/landing/${fallen.landing}` };
}

export function ariaLabelOf(said: StemItemText): string {
  return `${said.what}: ${said.name}${said.more ? `, ${said.more}` : ""}`;
}
