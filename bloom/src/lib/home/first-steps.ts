//! The three first steps with flower, and which of them are done.
import type { StatusView } from "../api";

export interface FirstSteps {
  wrote: boolean;
  taken: boolean;
  landed: boolean;
}

const TAKEN = ["in_progress", "in_review", "landed", "done"];
const LANDED = ["landed", "done"];

export function stepsOf(status: StatusView): FirstSteps {
  const sum = (statuses: string[]) => statuses.reduce((all, one) => all + (status.briefs[one] ?? 0), 0);
  return {
    wrote: Object.values(status.briefs).some((number) => number > 0),
    taken: sum(TAKEN) + (status.at_work ?? 0) > 0,
    landed: sum(LANDED) > 0,
  };
}
