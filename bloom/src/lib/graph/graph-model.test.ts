import { expect, it } from "vitest";
import type { LinkKind, LinkView } from "../api";
import { graphModel, neighbours, short } from "./graph-model";

const brief = (number: number, more: object = {}) => ({
  number,
  title: `T${number}`,
  kind: "feature" as const,
  status: "planned" as const,
  epic: null,
  depends_on: [] as number[],
  dependents: [] as number[],
  projects: [{ name: "shop", primary: true }],
  links: [] as LinkView[],
  ...more,
});
const link = (kind: LinkKind, target: string) => ({ kind, target, label: "", by: "", at: "" });

it("points from what comes first to what needs it, and leaves out what is not there", () => {
  const { nodes, edges } = graphModel([brief(1), brief(2, { depends_on: [1, 9], epic: 8 })], 2);
  expect(nodes.map((node) => node.id)).toEqual(["brief 1", "brief 2"]);
  expect(edges).toEqual([{ from: "brief 1", to: "brief 2", sort: "needs" }]);
});

it("shows worktrees and landings of the brief in the middle only, each once", () => {
  const links = [
    link("worktree", "w"),
    link("worktree", "w"),
    link("landing", "3"),
    link("landing", "x"),
    link("commit", "c"),
  ];
  const { nodes, edges } = graphModel([brief(1, { links }), brief(2, { links })], 1);
  expect(nodes.map((node) => node.id)).toEqual(["brief 1", "worktree w", "landing 3", "brief 2"]);
  expect(edges).toHaveLength(2);
});

it("finds each neighbour of a brief once", () => {
  const one = brief(1, { depends_on: [2], dependents: [3], epic: 2, links: [link("brief", "4")] });
  expect(neighbours(one)).toEqual([2, 3, 4]);
});

it("cuts by characters, not by halves of emoji", () => {
  expect(short("🌼🌼🌼🌼", 3)).toBe("🌼🌼…");
  expect(short("abc", 3)).toBe("abc");
});
