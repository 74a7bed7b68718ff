import { expect, it } from "vitest";
import { approvalWords, changesWords, reasonParts } from "./landing-text";

it("names the approval of a landing", () => {
  expect(approvalWords({ approved: false, state: "approval" })).toMatch(/waiting for you/);
  expect(approvalWords({ approved: true, state: "queued" })).toBe("by the operator");
  expect(approvalWords({ approved: false, state: "landed" })).toBe("not needed");
  expect(approvalWords({ approved: false, state: "cancelled" })).toBeUndefined();
});

it("commands stand apart from the words before them, whatever is in them", () => {
  const reason =
    "it changes `flower.toml`; these commands are not approved: for i in 1 2; do echo `$i`; done; make all";
  expect(reasonParts(reason)).toEqual({
    words: "it changes `flower.toml`; these commands are not approved:",
    commands: "for i in 1 2; do echo `$i`; done; make all",
  });
  expect(reasonParts("it is next")).toEqual({ words: "it is next" });
});

it("changes are those of the merge, once there is one", () => {
  expect(changesWords({ state: "approval" })).toMatch(/left MAIN/);
  expect(changesWords({ state: "rejected", merge_commit: "abc" })).toMatch(/would/);
  expect(changesWords({ state: "rolled_back", merge_commit: "abc" })).toMatch(/^as merged/);
});
