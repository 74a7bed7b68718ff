import { expect, it } from "vitest";
import { commitHref, homeProject, worktreeHref } from "./worktree-href";

it("the address of a worktree has its project and its name, with any characters", () => {
  expect(worktreeHref("lane")).toBe("/worktrees/lane");
  expect(worktreeHref("lane", null)).toBe("/worktrees/lane");
  expect(worktreeHref("a/b?c", "the shop&x=1")).toBe("/worktrees/a%2Fb%3Fc?project=the+shop%26x%3D1");
  expect(commitHref("lane", "shop", "abc")).toBe("/worktrees/lane?project=shop&tab=commits&commit=abc");
});

it("a brief's work is done in its first project, unless it is said", () => {
  const project = (name: string, primary: boolean) => ({ name, primary });
  expect(homeProject({ projects: [project("a", false), project("b", true)] })).toBe("b");
  expect(homeProject({ projects: [project("a", false)] })).toBe("a");
  expect(homeProject({ projects: [] })).toBeUndefined();
});
