//! The tone in which a state is shown.
import type {
  AgentState,
  DispatchState,
  EventView,
  FindingState,
  State as LandingState,
  MainState,
  Status,
  Topic,
  WorktreeState,
} from "./api";
import { topicOf } from "./trace/event-topic";

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
  quiet: "progress",
  parked: "info",
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

/** Kinds of events whose tone is not that of their topic. */
const EVENT: Record<string, Tone> = {
  landed: "success",
  dispatch_landed: "success",
  spec_snapshot: "success",
  decision_made: "success",
  main_settled: "success",
  landing_approved: "success",
  landing_rejected: "danger",
  rolled_back: "danger",
  dispatch_failed: "danger",
  dispatch_late: "danger",
  dispatch_expired: "danger",
  push_failed: "danger",
  worktree_failed: "danger",
  worktree_diverged: "danger",
  lease_breached: "danger",
  call_refused: "danger",
  main_alarm: "danger",
  question_asked: "attention",
  permission_asked: "attention",
  landing_held: "attention",
  plan_proposed: "attention",
  queue_frozen: "neutral",
  queue_thawed: "neutral",
};

const IN_PROGRESS: Topic[] = ["agents", "dispatches", "landings"];

export function eventTone(event: EventView): Tone {
  return EVENT[event.kind] ?? (IN_PROGRESS.includes(topicOf(event)) ? "progress" : "neutral");
}
