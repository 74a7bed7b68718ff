import { expect, it } from "vitest";
import type { StatusView } from "../api";
import { stepsOf } from "./first-steps";

const status = (briefs: Record<string, number>, at_work = 0) => ({ briefs, at_work }) as unknown as StatusView;

it("ticks a step only when it is done", () => {
  expect(stepsOf(status({ draft: 0 }))).toEqual({ wrote: false, taken: false, landed: false });
  expect(stepsOf(status({ draft: 1 }))).toEqual({ wrote: true, taken: false, landed: false });
  expect(stepsOf(status({ planned: 1 }, 1))).toEqual({ wrote: true, taken: true, landed: false });
  expect(stepsOf(status({ in_progress: 1 }))).toEqual({ wrote: true, taken: true, landed: false });
  expect(stepsOf(status({ landed: 1 }))).toEqual({ wrote: true, taken: true, landed: true });
});
