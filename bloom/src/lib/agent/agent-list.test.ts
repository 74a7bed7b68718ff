import { expect, it } from "vitest";
import type { AgentView, DispatchView } from "../api";
import { endedToday, waitingDispatches, sortAgents, agentSummary, stateText } from "./agent-list";

const agent = (name: string, state: string, started: string, ended?: string) =>
  ({ name, state, started_at: started, ended_at: ended ?? null }) as AgentView;

it("puts waiting agents first, and leaves out those that ended", () => {
  const all = [
    agent("idle", "idle", "1"),
    agent("works", "working", "2"),
    agent("asks", "waiting", "3"),
    agent("earlier", "working", "1"),
    agent("gone", "stopped", "0", "4"),
    agent("broken", "failed", "5"),
  ];
  expect(sortAgents(all).map((one) => one.name)).toEqual(["asks", "broken", "earlier", "works", "idle"]);
  expect(agentSummary(sortAgents(all))).toBe("1 waiting, 1 failed or unknown, 2 working, 1 idle");
  expect(agentSummary([])).toBe("");
});

it("knows who ended today, newest first", () => {
  const now = new Date(2026, 10, 16, 15).getTime();
  const at = (hours: number) => new Date(now - hours * 3_600_000).toISOString();
  const all = [
    agent("morning", "stopped", "", at(6)),
    agent("yesterday", "stopped", "", at(20)),
    agent("just now", "stopped", "", at(0)),
    agent("alive", "working", ""),
  ];
  expect(endedToday(all, now).map((one) => one.name)).toEqual(["just now", "morning"]);
});

it("keeps the line in the order in which it was asked for", () => {
  const one = (id: number, state: string) => ({ id, state }) as DispatchView;
  expect(
    waitingDispatches([one(7, "requested"), one(3, "requested"), one(2, "claimed")]).map((each) => each.id),
  ).toEqual([3, 7]);
});

it("says how long an agent is quiet, and until when it is parked", () => {
  const now = new Date(2026, 10, 16, 15).getTime();
  const quiet = { ...agent("a", "quiet", "1"), quiet_seconds: 150 } as AgentView;
  expect(stateText(quiet, now)).toBe("quiet 2m");
  const parked = (hours: number) =>
    ({ ...agent("a", "parked", "1"), parked_until: new Date(now + hours * 3_600_000).toISOString() }) as AgentView;
  expect(stateText(parked(2), now)).toBe("parked until 17:00");
  expect(stateText(parked(48), now)).toBe("parked until 2026-11-18 15:00");
  expect(stateText(agent("a", "working", "1"), now)).toBe("working");
});
