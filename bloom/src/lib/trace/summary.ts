//! An event in a few words, for daemons that do not say it themselves.
import type { EventView } from "../api";
import { shortCommit, spaced } from "../words";

type Body = Record<string, unknown>;

/** Longer ones are in the event itself. */
const MOST = 240;

/** What happened, as flower says it, or as well as the page can. */
export function said(event: EventView): string {
  const own = (event as { said?: unknown }).said;
  const text = typeof own === "string" && own ? own : summary(event.kind, event.body as Body);
  return oneLine(text);
}

function oneLine(text: string): string {
  const line = text
    .slice(0, MOST * 4)
    .trim()
    .replace(/\s+/g, " ");
  return line.length > MOST ? `${line.slice(0, MOST)}…` : line;
}

function word(body: Body, name: string): string {
  const value = body[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function words(body: Body, name: string): string {
  const value = body[name];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string").join(", ") : word(body, name);
}

/** `: why`, where there is one. */
function because(body: Body, name = "why"): string {
  const why = words(body, name);
  return why ? `: ${why}` : "";
}

type Teller = (body: Body) => string;
const landing: Teller = (body) => `landing ${word(body, "number")}`;
const dispatch: Teller = (body) => `dispatch ${word(body, "number")}`;

const TELLERS: Record<string, Teller> = {
  brief_created: (body) => `wrote “${word(body, "title")}”`,
  brief_renamed: (body) => `renamed it from “${word(body, "from")}” to “${word(body, "to")}”`,
  kind_changed: (body) => `made it a ${word(body, "to")}; it was a ${word(body, "from")}`,
  plan_proposed: (body) => `proposed a plan, version ${word(body, "version")}`,
  refinement: (body) => `refined the spec, version ${word(body, "version")}${because(body)}`,
  spec_snapshot: (body) => `accepted version ${word(body, "version")} of the spec`,
  status_changed: (body) => `${spaced(word(body, "from"))} → ${spaced(word(body, "to"))}${because(body)}`,
  epic_changed: (body) => (body.to ? `made it part of epic #${word(body, "to")}` : "took it out of its epic"),
  dependency_added: (body) => `now needs #${word(body, "needs")}`,
  dependency_dropped: (body) => `does not need #${word(body, "needs")} any more`,
  dependency_met: (body) => `#${word(body, "needs")}, which it needs, is there`,
  comment_added: (body) => word(body, "text"),
  note_added: (body) => word(body, "text"),
  question_asked: (body) => `asked: ${word(body, "text")}`,
  decision_made: (body) => `answered: ${word(body, "text")}`,
  link_added: (body) => `linked ${word(body, "kind")} ${word(body, "label") || word(body, "target")}`,
  participant_joined: (body) => `${word(body, "name")} joined`,
  scratchpad_created: (body) => `began scratchpad ${word(body, "number")}, “${word(body, "title")}”`,
  scratchpad_written: (body) => `wrote version ${word(body, "version")} of scratchpad ${word(body, "number")}`,
  landing_queued: (body) => `queued ${landing(body)}, “${word(body, "title")}”`,
  landing_checking: (body) => `checks ${landing(body)}`,
  checks_ran: (body) => `ran the checks of ${landing(body)}`,
  check_flaked: (body) => `${word(body, "check")} of ${landing(body)} was red, then green`,
  landing_held: (body) => `holds ${landing(body)} back${because(body)}`,
  landing_approved: (body) => `let ${landing(body)} in`,
  landing_requeued: (body) => `queued ${landing(body)} again${because(body)}`,
  landing_rejected: (body) => `rejected ${landing(body)}${because(body)}`,
  landing_cancelled: (body) => `cancelled ${landing(body)}${because(body)}`,
  landed: (body) => `${landing(body)} is in MAIN as ${shortCommit(word(body, "merge_commit"))}`,
  rolled_back: (body) => `took ${landing(body)} back out, by landing ${word(body, "by")}`,
  main_alarm: (body) => word(body, "text"),
  main_recorded: (body) => `${word(body, "branch")} is at ${shortCommit(word(body, "tip"))}`,
  main_settled: (body) => `MAIN is settled (${spaced(word(body, "how"))}) at ${shortCommit(word(body, "tip"))}`,
  queue_frozen: (body) => `froze MAIN of ${word(body, "project")}${because(body)}`,
  queue_thawed: (body) => `thawed MAIN of ${word(body, "project")}`,
  dispatch_requested: (body) => `asked for ${dispatch(body)}: ${word(body, "kind")}`,
  dispatch_claimed: (body) => `${word(body, "holder")} took on ${dispatch(body)}`,
  dispatch_executing: (body) => `${dispatch(body)} is being worked on`,
  dispatch_handed_back: (body) => `handed ${dispatch(body)} back${because(body, "summary")}`,
  dispatch_failed: (body) => `gave ${dispatch(body)} up${because(body, "summary")}`,
  dispatch_landed: (body) => `${dispatch(body)} has landed`,
  dispatch_expired: (body) => `${word(body, "holder")} was not heard of any more; ${dispatch(body)} is free again`,
  dispatch_cancelled: (body) => `cancelled ${dispatch(body)}${because(body)}`,
  dispatch_late: (body) => `answered too late for ${dispatch(body)}${because(body, "summary")}`,
  lease_taken: (body) => `${word(body, "holder")} reserved ${words(body, "patterns")}`,
  lease_released: (body) => `released lease ${word(body, "number")}${because(body)}`,
  lease_breached: (body) => `changed ${words(body, "paths")}, which ${word(body, "holder")} had reserved`,
  message_sent: (body) => `told ${word(body, "to")}: ${word(body, "text")}`,
  agent_started: (body) => `started ${word(body, "name")} in ${word(body, "worktree")}`,
  agent_assigned: (body) => `gave agent ${word(body, "number")} dispatch ${word(body, "dispatch")}`,
  agent_restarted: (body) => `started agent ${word(body, "number")} again${because(body)}`,
  agent_refreshed: (body) => `agent ${word(body, "number")} goes on with a fresh context${because(body, "note")}`,
  agent_stopped: (body) => `agent ${word(body, "number")} is ${spaced(word(body, "how"))}${because(body)}`,
  permission_asked: (body) => `${word(body, "name")} asks for permission: ${word(body, "title")}`,
  permission_decided: (body) => `${body.allow === true ? "allowed" : "denied"} it${because(body)}`,
  call_refused: (body) => `refused ${word(body, "what")}${because(body)}`,
  worktree_requested: (body) => `asked for worktree ${word(body, "name")}`,
  worktree_created: (body) => `made worktree ${word(body, "name")}`,
  worktree_synced: (body) =>
    body.why_not ? `could not bring it up to date${because(body, "why_not")}` : "brought it up to date with MAIN",
  project_registered: (body) => `${word(body, "name")} is a project now`,
  project_removed: (body) => `${word(body, "name")} is no project any more`,
  token_issued: (body) => `made a token for ${word(body, "agent")} as ${word(body, "role")}`,
  pushed: (body) => `pushed ${shortCommit(word(body, "commit"))} to ${word(body, "remote")}`,
  push_failed: (body) => `could not push to ${word(body, "remote")}${because(body)}`,
};

/** Of a kind that is not known, its first words. */
function summary(kind: string, body: Body): string {
  const tell = TELLERS[kind];
  if (tell) return tell(body);
  return Object.entries(body)
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .slice(0, 4)
    .map(([name, value]) => `${spaced(name)} ${String(value).slice(0, 60)}`)
    .join(", ");
}
