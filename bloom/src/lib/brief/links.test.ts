import { expect, it } from "vitest";
import { byKind } from "./links";

it("orders kinds, the newest link first, and keeps kinds it does not know", () => {
  const link = (kind: string, target: string, at: string) => ({ kind, target, label: "", by: "", at });
  const groups = byKind([
    link("moon", "1", "1"),
    link("commit", "a", "1"),
    link("worktree", "w", "1"),
    link("commit", "b", "2"),
  ]);
  expect(groups.map((group) => group.kind)).toEqual(["worktree", "commit", "moon"]);
  expect(groups[1]!.links.map((one) => one.target)).toEqual(["b", "a"]);
});
