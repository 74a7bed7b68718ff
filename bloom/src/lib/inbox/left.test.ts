import { expect, it } from "vitest";
import { left } from "./left";

const now = Date.parse("2026-11-16T12:00:00Z");
const after = (seconds: number) => left(new Date(now + seconds * 1_000).toISOString(), now);

it("says how long is left, louder towards the end", () => {
  expect(after(7_300)).toEqual({ words: "denied in 2h", soon: false });
  expect(after(605)).toEqual({ words: "denied in 10m 05s", soon: false });
  expect(after(119)).toEqual({ words: "denied in 1m 59s", soon: true });
  expect(after(9)).toEqual({ words: "denied in 9s", soon: true });
});

it("never counts below nothing", () => {
  expect(after(0).words).toBe("is being denied");
  expect(after(-60).words).toBe("is being denied");
  expect(left("nonsense", now).words).toBe("is being denied");
});
