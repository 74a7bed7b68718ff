import { expect, it } from "vitest";
import type { LandingView } from "../api";
import { approvalWords, changesWords, landingReasons } from "./landing-text";

it("names the approval of a landing", () => {
  expect(approvalWords({ approved: false, state: "approval" })).toMatch(/waiting for you/);
  expect(approvalWords({ approved: true, state: "queued" })).toBe("by the operator");
  expect(approvalWords({ approved: false, state: "landed" })).toBe("not needed");
  expect(approvalWords({ approved: false, state: "cancelled" })).toBeUndefined();
});

it("shows each reason of a held landing, and commands apart from the words", () => {
  const commands = ["for i in 1 2; do echo `$i`; done", "make all"];
  const text = `these commands are not approved: ${commands.join("; ")}`;
  const held: LandingView["held"] = [
    { code: "sensitive_path", text: "it changes `flower.toml`", commands: [] },
    { code: "commands_not_approved", text, commands },
  ];
  expect(landingReasons({ reason: "it waits", held })).toEqual([
    { text: "it changes `flower.toml`", commands: [] },
    { text: "these commands are not approved:", commands },
  ]);
});

it("shows the one reason of a landing that is not held", () => {
  expect(landingReasons({ reason: "it is next", held: [] })).toEqual([{ text: "it is next", commands: [] }]);
  expect(landingReasons({ reason: null, held: [] })).toEqual([]);
});

it("changes are those of the merge, once there is one", () => {
  expect(changesWords({ state: "approval" })).toMatch(/left MAIN/);
  expect(changesWords({ state: "rejected", merge_commit: "abc" })).toMatch(/would/);
  expect(changesWords({ state: "rolled_back", merge_commit: "abc" })).toMatch(/^as merged/);
});
