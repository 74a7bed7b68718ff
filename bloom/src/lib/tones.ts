//! The tone in which a state is shown.
import type {
  AgentState,
  DispatchState,
  EventView,
  FindingState,
  State as LandingState,
  MainState,
  Status,
  WorktreeState,
} from "./api";

/** `success` holds, `attention` waits for the operator, `progress` is under way, `danger` is broken, `info` is a link or a plan. */
export type Tone = "success" | "attention" | "progress" | "danger" | "info" | "neutral";

const STATUS: Record<Status, Tone> = {
  draft: "neutral",
  planned: "info",
  in_progress: "progress",
  in_review: "attention",
  landed: "success",
  done: "success",
  parked: "neutral",
  cancelled: "neutral",
};

export function statusTone(status: Status): Tone {
  return STATUS[status] ?? "neutral";
}

const AGENT: Record<AgentState, Tone> = {
  starting: "progress",
  working: "progress",
  waiting: "attention",
  idle: "info",
  stopped: "neutral",
  failed: "danger",
  unknown: "danger",
};

export function agentTone(state: AgentState): Tone {
  return AGENT[state] ?? "neutral";
}

const LANDING: Record<LandingState, Tone> = {
  queued: "neutral",
  checking: "progress",
  approval: "attention",
  landed: "success",
  rejected: "danger",
  rolled_back: "danger",
  cancelled: "neutral",
};

export function landingTone(state: LandingState): Tone {
  return LANDING[state] ?? "neutral";
}

const DISPATCH: Record<DispatchState, Tone> = {
  requested: "info",
  claimed: "progress",
  executing: "progress",
  handed_back: "attention",
  landed: "success",
  failed: "danger",
  cancelled: "neutral",
};

export function dispatchTone(state: DispatchState): Tone {
  return DISPATCH[state] ?? "neutral";
}

const MAIN: Record<MainState, Tone> = {
  stable: "success",
  frozen: "info",
  dirty: "danger",
  moved: "danger",
  unhealthy: "danger",
  unknown: "danger",
};

export function mainTone(state: MainState): Tone {
  return MAIN[state] ?? "neutral";
}

const WORKTREE: Record<WorktreeState, Tone> = {
  creating: "progress",
  ready: "success",
  removing: "progress",
  removed: "progress",
  restoring: "progress",
  failed: "progress",
  missing: "danger",
  unknown: "danger",
};

export function worktreeTone(state: WorktreeState): Tone {
  return WORKTREE[state] ?? "neutral";
}

const FINDING: Record<FindingState, Tone> = { ok: "success", bad: "danger", unknown: "progress" };

export function findingTone(state: FindingState): Tone {
  return FINDING[state] ?? "neutral";
}

const EVENT: [RegExp, Tone][] = [
  [/^(landed|dispatch_landed|spec_snapshot|decision_made|main_settled|landing_approved)$/, "success"],
  [/(rejected|rolled_back|failed|refused|breached|diverged|main_alarm|dispatch_late|expired)$/, "danger"],
  [/^(question_asked|permission_asked|landing_held|plan_proposed)$/, "attention"],
  [/^(dispatch_|landing_|checks_ran|agent_)/, "progress"],
];

export function eventTone(event: EventView): Tone {
  return EVENT.find(([pattern]) => pattern.test(event.kind))?.[1] ?? "neutral";
}
