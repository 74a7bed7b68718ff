//! MAIN and what grows from it, as a plant: computed from what the daemon tells, before anything has a place.
import type { AgentState, AgentView, HistoryEntry, LandingView, State as LandingState, WorktreeView } from "../api";
import { humanize } from "../format";
import { agentTone, landingTone, type Tone } from "../tones";

/** A commit of MAIN's. One that a landing made is in bloom. */
export interface Flower {
  commit: string;
  title: string;
  at: string;
  landing?: number;
  briefs: number[];
  worktree?: string;
  wilted: boolean;
  /** None on what no landing made. */
  petals: number;
  /** From 0 to 1, by how much it changed. */
  size: number;
}

/** An agent at work. */
export interface Leaf {
  name: string;
  state: AgentState;
  tone: Tone;
  breathes: boolean;
  /** How full its context is, from 0 to 1. */
  fill?: number;
}

/** A live worktree. */
export interface Shoot {
  name: string;
  project: string;
  /** Which flower it began at; -1 is before all that are shown. */
  from: number;
  ahead: number;
  behind: number;
  dirty: boolean;
  briefs: number[];
  leaves: Leaf[];
  /** What it is about, in a few words. */
  about: string;
}

/** What is on its way into MAIN. */
export interface Bud {
  landing: number;
  title: string;
  state: LandingState;
  reason: string;
  tone: Tone;
  moves: boolean;
  /** From the worktree's end (0) to MAIN (1). */
  way: number;
  worktree?: string;
}

/** What was not let in. */
export interface Fallen {
  landing: number;
  title: string;
  reason: string;
  at: string;
  /** The flower it fell beside; -1 is before all that are shown. */
  beside: number;
}

export interface Plant {
  /** Oldest first. */
  flowers: Flower[];
  shoots: Shoot[];
  buds: Bud[];
  fallen: Fallen[];
  /** There is more history than is shown. */
  older: boolean;
  /** Worktrees that are not drawn. */
  more: number;
}

export interface Told {
  log: HistoryEntry[];
  /** How many commits were asked for. */
  asked: number;
  worktrees: WorktreeView[];
  agents: AgentView[];
  /** What waits to land, in the order in which it will. */
  queue: LandingView[];
  /** What has ended. */
  landings: LandingView[];
}

/** More branches could not be told apart. */
const MAX_SHOOTS = 120;
const MAX_FALLEN = 24;
const WAY: Partial<Record<LandingState, number>> = { queued: 0.2, checking: 0.55, approval: 0.86 };

export function plantOf(told: Told): Plant {
  const known = new Map(told.landings.map((landing) => [landing.id, landing]));
  const flowers = told.log.toReversed().map((entry) => flowerOf(entry, known));
  const place = new Map(flowers.map((flower, index) => [flower.commit, index]));
  const shoots = told.worktrees
    .toSorted((a, b) => b.agents.length - a.agents.length || b.number - a.number)
    .slice(0, MAX_SHOOTS)
    .toSorted((a, b) => a.number - b.number)
    .map((worktree) => shootOf(worktree, told.agents, place));
  const fallen = told.landings
    .filter((landing) => landing.state === "rejected")
    .toSorted((a, b) => b.id - a.id)
    .slice(0, MAX_FALLEN)
    .map((landing) => fallenOf(landing, place, flowers));
  return {
    flowers,
    shoots,
    buds: told.queue.filter((landing) => landing.state in WAY).map(budOf),
    fallen,
    older: told.log.length >= told.asked,
    more: told.worktrees.length - shoots.length,
  };
}

function flowerOf(entry: HistoryEntry, known: Map<number, LandingView>): Flower {
  const landing = entry.landing ? known.get(entry.landing) : undefined;
  const wilted = entry.state === "rolled_back";
  const reverts = Boolean(landing?.reverts);
  return {
    commit: entry.commit,
    title: landing?.title ?? entry.title,
    at: entry.at,
    landing: entry.landing ?? undefined,
    briefs: entry.briefs,
    worktree: entry.worktree ?? undefined,
    wilted,
    petals: !entry.landing || reverts ? 0 : Math.min(4 + Math.max(entry.briefs.length, 1), 8),
    size: Math.min(Math.log2(1 + (landing?.paths.length ?? 1)) / 6, 1),
  };
}

function shootOf(worktree: WorktreeView, agents: AgentView[], place: Map<string, number>): Shoot {
  const leaves = agents.filter((agent) => agent.worktree === worktree.name && !agent.ended_at).map(leafOf);
  const about = [
    worktree.ahead ? `${worktree.ahead} ahead` : "",
    worktree.behind ? `${worktree.behind} behind` : "",
    worktree.dirty ? "uncommitted" : "",
  ].filter(Boolean);
  return {
    name: worktree.name,
    project: worktree.project,
    from: place.get(worktree.base) ?? -1,
    ahead: worktree.ahead,
    behind: worktree.behind,
    dirty: worktree.dirty,
    briefs: worktree.briefs,
    leaves,
    about: about.join(", ") || (worktree.state === "ready" ? "no commits yet" : humanize(worktree.state)),
  };
}

function leafOf(agent: AgentView): Leaf {
  const { context } = agent;
  return {
    name: agent.name,
    state: agent.state,
    tone: agentTone(agent.state),
    breathes: agent.state === "working" || agent.state === "starting",
    fill: context && context.size > 0 ? Math.min(context.used / context.size, 1) : undefined,
  };
}

function budOf(landing: LandingView): Bud {
  return {
    landing: landing.id,
    title: landing.title,
    state: landing.state,
    reason: landing.reason ?? "",
    tone: landingTone(landing.state),
    moves: landing.state === "checking",
    way: WAY[landing.state] ?? 0,
    worktree: landing.worktree ?? undefined,
  };
}

/** Beside the flower that it was tried on, or the last one before it ended. */
function fallenOf(landing: LandingView, place: Map<string, number>, flowers: Flower[]): Fallen {
  const at = landing.ended_at ?? landing.queued_at;
  const when = Date.parse(at);
  const beside = place.get(landing.onto ?? "") ?? flowers.findLastIndex((flower) => Date.parse(flower.at) <= when);
  return { landing: landing.id, title: landing.title, reason: landing.reason ?? "", at, beside };
}
