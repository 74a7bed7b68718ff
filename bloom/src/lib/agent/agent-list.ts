//! The order of agents and of waiting dispatches on the page of agents.
import type { AgentState, AgentView, DispatchView } from "../api";

/** Waiting agents first, then failed ones, then working ones. */
const RANK: Record<AgentState, number> = {
  waiting: 0,
  failed: 1,
  unknown: 1,
  working: 2,
  quiet: 2,
  parked: 3,
  starting: 3,
  idle: 4,
  stopped: 5,
};

/** `working`, `quiet 2m`, `parked until 15:28`, or how it ended. */
export function stateText(agent: AgentView, now: number): string {
  if (agent.ended) return agent.ended.how;
  if (agent.state === "quiet" && typeof agent.quiet_seconds === "number") {
    return `quiet ${roughTime(agent.quiet_seconds)}`;
  }
  if (agent.state === "parked" && agent.parked_until) {
    const until = new Date(agent.parked_until);
    const isToday = until.toDateString() === new Date(now).toDateString();
    const time = until.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    return `parked until ${isToday ? time : `${until.toLocaleDateString("en-CA")} ${time}`}`;
  }
  return agent.state;
}

function roughTime(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  return seconds < 3_600 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`;
}

export function sortAgents(agents: AgentView[]): AgentView[] {
  const rank = (agent: AgentView) => RANK[agent.state] ?? 5;
  return agents
    .filter((agent) => !agent.ended_at)
    .toSorted((a, b) => rank(a) - rank(b) || a.started_at.localeCompare(b.started_at));
}

/** Newest first. The day is that of the browser. */
export function endedToday(agents: AgentView[], now: number): AgentView[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  return agents
    .filter((agent) => agent.ended_at && Date.parse(agent.ended_at) >= midnight)
    .toSorted((a, b) => (b.ended_at ?? "").localeCompare(a.ended_at ?? ""));
}

/** Dispatches that no agent has started, oldest first. */
export function waitingDispatches(dispatches: DispatchView[]): DispatchView[] {
  return dispatches.filter((one) => one.state === "requested").toSorted((a, b) => a.id - b.id);
}

/** `1 waiting, 2 working`. */
export function agentSummary(agents: AgentView[]): string {
  const countOf = (...states: AgentState[]) => agents.filter((agent) => states.includes(agent.state)).length;
  const parts: [number, string][] = [
    [countOf("waiting"), "waiting"],
    [countOf("failed", "unknown"), "failed or unknown"],
    [countOf("working", "starting", "quiet"), "working"],
    [countOf("parked"), "parked"],
    [countOf("idle"), "idle"],
  ];
  return parts
    .filter(([number]) => number > 0)
    .map(([number, state]) => `${number} ${state}`)
    .join(", ");
}
