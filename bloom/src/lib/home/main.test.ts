import { expect, it } from "vitest";
import type { AlarmView } from "../api";
import { WAYS, waysOut } from "./main";

const alarm = (what: AlarmView["what"]): AlarmView => ({ what, text: "", files: [], at: "", next: "" });

it("offers only ways that lead out of what is wrong, each with words", () => {
  expect(waysOut(undefined)).toEqual([]);
  expect(waysOut(alarm("dirty"))).toEqual(["rescue"]);
  expect(waysOut(alarm("moved"))).toEqual(["adopt", "rescue", "restore"]);
  expect(waysOut(alarm("gone"))).toEqual(["restore"]);
  for (const way of Object.values(WAYS)) expect(way.does).toMatch(/\.$/);
});
