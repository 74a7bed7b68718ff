//! All agents in the order in which somebody wants to see them, and those that wait for their turn.
import type { AgentView, DispatchView } from "../api";

/** Who waits for somebody, then what went wrong, then who works. */
const RANK: Record<string, number> = { waiting: 0, failed: 1, unknown: 1, working: 2, starting: 3, idle: 4 };

export function sortAgents(agents: AgentView[]): AgentView[] {
  const rank = (agent: AgentView) => RANK[agent.state] ?? 5;
  return agents
    .filter((agent) => !agent.ended_at)
    .toSorted((a, b) => rank(a) - rank(b) || a.started_at.localeCompare(b.started_at));
}

/** Newest first, by the day of whoever looks. */
export function endedToday(agents: AgentView[], now: number): AgentView[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  return agents
    .filter((agent) => agent.ended_at && Date.parse(agent.ended_at) >= midnight)
    .toSorted((a, b) => (b.ended_at ?? "").localeCompare(a.ended_at ?? ""));
}

/** What was asked for and nobody has begun, in the order in which it was asked for. */
export function waitingDispatches(dispatches: DispatchView[]): DispatchView[] {
  return dispatches.filter((one) => one.state === "requested").toSorted((a, b) => a.id - b.id);
}

/** `3 agents: 1 waits for you, 2 work`. */
export function agentSummary(agents: AgentView[]): string {
  const of = (...states: string[]) => agents.filter((agent) => states.includes(agent.state)).length;
  const parts: [number, string, string][] = [
    [of("waiting"), "waits", "wait"],
    [of("failed", "unknown"), "in trouble", "in trouble"],
    [of("working", "starting"), "works", "work"],
    [of("idle"), "idle", "idle"],
  ];
  const said = parts.filter(([many]) => many > 0).map(([many, one, more]) => `${many} ${many === 1 ? one : more}`);
  return said.join(", ");
}
