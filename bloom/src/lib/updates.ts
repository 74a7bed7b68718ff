//! Updates from the daemon, and which of them concern a resource. The one place that knows what the daemon sends.
import type { EventView } from "./api";

/** Every kind of event, as `flower-core/src/event.rs` defines them; a test compares the two. */
export const EVENT_KINDS = [
  "brief_created",
  "plan_proposed",
  "spec_snapshot",
  "refinement",
  "status_changed",
  "brief_renamed",
  "kind_changed",
  "epic_changed",
  "projects_changed",
  "dispatch_options_changed",
  "dependency_added",
  "dependency_dropped",
  "comment_added",
  "note_added",
  "question_asked",
  "decision_made",
  "link_added",
  "participant_joined",
  "scratchpad_created",
  "scratchpad_written",
  "project_registered",
  "project_removed",
  "token_issued",
  "token_revoked",
  "worktree_requested",
  "worktree_created",
  "worktree_failed",
  "worktree_diverged",
  "worktree_removing",
  "worktree_removed",
  "worktree_restoring",
  "worktree_restored",
  "archive_dropped",
  "commands_approved",
  "landing_queued",
  "landing_checking",
  "landing_held",
  "landing_approved",
  "landing_requeued",
  "checks_ran",
  "check_flaked",
  "landed",
  "landing_rejected",
  "landing_cancelled",
  "rolled_back",
  "dependency_met",
  "main_recorded",
  "queue_frozen",
  "queue_thawed",
  "main_alarm",
  "main_settled",
  "pushed",
  "push_failed",
  "worktree_synced",
  "dispatch_requested",
  "dispatch_claimed",
  "dispatch_executing",
  "dispatch_expired",
  "dispatch_handed_back",
  "dispatch_late",
  "dispatch_failed",
  "dispatch_cancelled",
  "dispatch_landed",
  "lease_taken",
  "lease_released",
  "lease_breached",
  "message_sent",
  "agent_started",
  "agent_assigned",
  "agent_restarted",
  "agent_refreshed",
  "agent_spent",
  "agent_stopped",
  "permission_asked",
  "permission_decided",
  "call_refused",
  "loss_accepted",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

type PrefixOf<Kind> = Kind extends `${infer Head}_${string}` ? `${Head}_` : never;
/** `agent_` stands for all kinds that begin so. */
export type EventKindPrefix = PrefixOf<EventKind>;

/** Hints about state that is not in the log. `agent:NAME` is the transcript of one agent, `all` follows after lost hints. */
export type Topic = "agents" | "inbox" | "landings" | "worktrees" | "all" | `agent:${string}`;

/** Why something may have changed: events of the log, and topics that change without an event. */
export interface Update {
  events: EventView[];
  topics: Topic[];
  /** Updates were missed: anything may have changed. */
  all: boolean;
}

export type Concern = (update: Update) => boolean;

/** Events of these kinds. */
export function kinds(...wanted: (EventKind | EventKindPrefix)[]): Concern {
  const is = (kind: string) => wanted.some((want) => (want.endsWith("_") ? kind.startsWith(want) : kind === want));
  return (update) => update.events.some((event) => is(event.kind));
}

/** Hints with these topics. */
export function topics(...wanted: Topic[]): Concern {
  return (update) => update.topics.some((topic) => wanted.includes(topic));
}

export function any(...concerns: Concern[]): Concern {
  return (update) => concerns.some((concern) => concern(update));
}
