import { expect, it } from "vitest";
import { byKind, scratchpadOf } from "./links";

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

it("knows a scratchpad by its own kind and as an execution", () => {
  expect(scratchpadOf({ kind: "scratchpad", target: "7" })).toBe(7);
  expect(scratchpadOf({ kind: "execution", target: "scratchpad:7" })).toBe(7);
  expect(scratchpadOf({ kind: "execution", target: "run 7" })).toBeUndefined();
  expect(scratchpadOf({ kind: "file", target: "7" })).toBeUndefined();
});
