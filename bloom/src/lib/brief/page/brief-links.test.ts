import { expect, it } from "vitest";
import type { LinkKind } from "../../api";
import { linksByKind, hrefOf, scratchpadOf } from "./brief-links";

it("orders kinds, the newest link first, and keeps kinds it does not know", () => {
  const link = (kind: LinkKind, target: string, at: string) => ({ kind, target, label: "", by: "", at });
  const groups = linksByKind([
    link("moon" as LinkKind, "1", "1"),
    link("commit", "a", "1"),
    link("worktree", "w", "1"),
    link("commit", "b", "2"),
  ]);
  expect(groups.map((group) => group.kind)).toEqual(["worktree", "commit", "moon"]);
  expect(groups[1]!.links.map((one) => one.target)).toEqual(["b", "a"]);
});

it("knows a scratchpad by its own kind and as an execution", () => {
  expect(scratchpadOf({ kind: "scratchpad", target: "7" })).toBe(7);
  expect(scratchpadOf({ kind: "execution", target: "scratchpad:7" })).toBe(7);
  expect(scratchpadOf({ kind: "execution", target: "run 7" })).toBeUndefined();
  expect(scratchpadOf({ kind: "file", target: "7" })).toBeUndefined();
});

it("a commit leads to the landing that took it, or to where it is being worked on", () => {
  const link = (kind: LinkKind, target: string, minute: number) => {
    return { kind, target, label: "", by: "", at: new Date(minute * 60_000).toISOString() };
  };
  const sha = "a".repeat(40);
  const [commit, landing] = [link("commit", sha, 1), link("landing", "4", 2)];
  const idle = { links: [commit], projects: [{ name: "yard", primary: true }], participants: [] };
  const agent = { name: "play-1", type: "agent", role: "worker", worktree: "lane", active: true } as const;
  expect(hrefOf(commit, idle)).toBeUndefined();
  const worked = { ...idle, participants: [agent] };
  expect(hrefOf(commit, worked)).toBe(`/worktrees/lane?project=yard&tab=commits&commit=${sha}`);
  expect(hrefOf(link("commit", "abcdef1", 1), worked)).toBeUndefined();
  const landed = { ...worked, links: [commit, landing, link("landing", "9", 5)] };
  expect(hrefOf(commit, landed)).toBe("/landing/4");
  // Committed since: not in what was queued before.
  expect(hrefOf(link("commit", sha, 8), landed)).toMatch(/commit=/);
  // No participant is active: the worktree where it was made, if known.
  const left = { ...landed, participants: [] };
  expect(hrefOf(link("commit", sha, 8), left)).toBeUndefined();
  const there = { ...left, links: [...landed.links, link("worktree", "b1-cart", 1)] };
  expect(hrefOf(link("commit", sha, 8), there)).toMatch(/^\/worktrees\/b1-cart\?.*commit=/);
  expect(hrefOf(link("worktree", "lane", 1), idle)).toBe("/worktrees/lane?project=yard");
});
