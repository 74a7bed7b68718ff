import { expect, it } from "vitest";
import type { AlarmView } from "../api";
import { RECOVERY, recoveryActions } from "./main-state";

const alarm = (what: AlarmView["what"]): AlarmView => ({ what, text: "", files: [], at: "", next: "" });

it("offers only ways that lead out of what is wrong, each with words", () => {
  expect(recoveryActions(undefined)).toEqual([]);
  expect(recoveryActions(alarm("dirty"))).toEqual(["rescue", "restore"]);
  expect(recoveryActions(alarm("moved"))).toEqual(["adopt", "rescue", "restore"]);
  expect(recoveryActions(alarm("gone"))).toEqual(["restore"]);
  for (const way of Object.values(RECOVERY)) expect(way.does).toMatch(/\.$/);
});
