//! What everything of the plant is called and where it leads: the same for who points, who tabs and who listens.
import { count, spaced } from "../words";
import { worktreeHref } from "../worktree/address";
import type { Bud, Fallen, Flower, Leaf, Shoot } from "./plant";

export interface Said {
  what: string;
  name: string;
  more: string;
  href: string;
}

const briefs = (numbers: number[]) => numbers.map((number) => `#${number}`).join(" ");

export function saidOfFlower(flower: Flower): Said {
  const from = flower.worktree ? `from ${flower.worktree}` : "";
  return {
    what: flower.wilted ? "rolled back" : flower.landing ? "landed" : "commit",
    name: flower.title,
    more: [briefs(flower.briefs), from, flower.commit.slice(0, 10)].filter(Boolean).join(" · "),
    href: flower.landing ? `/landing/${flower.landing}` : "/landing",
  };
}

export function saidOfShoot(shoot: Shoot): Said {
  const agents = shoot.leaves.length > 0 ? count(shoot.leaves.length, "agent") : "no agent";
  return {
    what: "worktree",
    name: shoot.name,
    more: [briefs(shoot.briefs), shoot.about, agents].filter(Boolean).join(" · "),
    href: worktreeHref(shoot.name, shoot.project),
  };
}

export function saidOfLeaf(leaf: Leaf, shoot: Shoot): Said {
  const fill = leaf.fill === undefined ? "context unknown" : `context ${Math.round(leaf.fill * 100)}% full`;
  return {
    what: "agent",
    name: leaf.name,
    more: `${leaf.state} in ${shoot.name} · ${fill}`,
    href: `/agents/${encodeURIComponent(leaf.name)}`,
  };
}

export function saidOfBud(bud: Bud): Said {
  return {
    what: spaced(bud.state),
    name: bud.title,
    more: [bud.worktree ? `from ${bud.worktree}` : "", bud.reason].filter(Boolean).join(" · "),
    href: `/landing/${bud.landing}`,
  };
}

export function saidOfFallen(fallen: Fallen): Said {
  return { what: "rejected", name: fallen.title, more: fallen.reason, href: `/landing/${fallen.landing}` };
}

export function spoken(said: Said): string {
  return `${said.what}: ${said.name}${said.more ? `, ${said.more}` : ""}`;
}
