import { expect, it } from "vitest";
import { commitHref, homeOf, worktreeHref } from "./address";

it("a worktree is found by its project and its name, whatever they are", () => {
  expect(worktreeHref("lane")).toBe("/worktrees/lane");
  expect(worktreeHref("lane", null)).toBe("/worktrees/lane");
  expect(worktreeHref("a/b?c", "the shop&x=1")).toBe("/worktrees/a%2Fb%3Fc?project=the+shop%26x%3D1");
  expect(commitHref("lane", "shop", "abc")).toBe("/worktrees/lane?project=shop&tab=commits&commit=abc");
});

it("a brief's work is done in its first project, unless it is said", () => {
  const project = (name: string, primary: boolean) => ({ name, primary });
  expect(homeOf({ projects: [project("a", false), project("b", true)] })).toBe("b");
  expect(homeOf({ projects: [project("a", false)] })).toBe("a");
  expect(homeOf({ projects: [] })).toBeUndefined();
});
