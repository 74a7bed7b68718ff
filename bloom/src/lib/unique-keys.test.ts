import { expect, it } from "vitest";
import { withUniqueKeys } from "./unique-keys";

it("what has one name twice has two keys, and keeps them when others come", () => {
  const keys = (names: string[]) => withUniqueKeys(names, (name) => name).map(([key]) => key);
  expect(keys(["a", "b", "a"])).toEqual(["0 a", "0 b", "1 a"]);
  expect(keys(["c", "a", "b", "a"]).slice(1)).toEqual(keys(["a", "b", "a"]));
  // No name can be made that is taken for the second of another.
  expect(new Set(keys(["a", "a", "1 a", "0 a"])).size).toBe(4);
});
