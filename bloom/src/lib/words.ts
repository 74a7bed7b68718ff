//! flower's words and tones for what the daemon tells.
import type { AgentState, EventView, Status } from "./api";

/** What a colour says: it holds, it waits for the operator, it is in motion, it is broken, it is a place to go to. */
export type Tone = "success" | "attention" | "progress" | "danger" | "info" | "neutral";

export function spaced(word: string): string {
  return word.replaceAll("_", " ");
}

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

export function statusTone(status: string): Tone {
  return STATUS[status as Status] ?? "neutral";
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

export function agentTone(state: string): Tone {
  return AGENT[state as AgentState] ?? "neutral";
}

const LANDING: Record<string, Tone> = {
  queued: "neutral",
  checking: "progress",
  approval: "attention",
  landed: "success",
  rejected: "danger",
  rolled_back: "danger",
  cancelled: "neutral",
};

export function landingTone(state: string): Tone {
  return LANDING[state] ?? "neutral";
}

const DISPATCH: Record<string, Tone> = {
  requested: "info",
  claimed: "progress",
  executing: "progress",
  handed_back: "attention",
  landed: "success",
  failed: "danger",
  cancelled: "neutral",
};

export function dispatchTone(state: string): Tone {
  return DISPATCH[state] ?? "neutral";
}

const MAIN: Record<string, Tone> = {
  stable: "success",
  frozen: "info",
  dirty: "danger",
  moved: "danger",
  unhealthy: "danger",
  unknown: "danger",
};

export function mainTone(state: string): Tone {
  return MAIN[state] ?? "neutral";
}

const WAITING: Record<string, Tone> = {
  question: "attention",
  permission: "attention",
  approval: "attention",
  alarm: "danger",
  message: "info",
};

export function inboxTone(kind: string): Tone {
  return WAITING[kind] ?? "attention";
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

const UNITS: [number, string][] = [
  [365 * 86_400, "y"],
  [30 * 86_400, "mo"],
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
];

/** `3h ago`; what lies less than ten seconds back is now, and so is what a clock that runs ahead says. */
export function ago(then: number, now: number): string {
  const seconds = Math.floor((now - then) / 1_000);
  if (seconds < 10) return "now";
  return `${span(seconds)} ago`;
}

/** `3h`, `45s`. */
export function span(seconds: number): string {
  const unit = UNITS.find(([size]) => seconds >= size);
  return unit ? `${Math.floor(seconds / unit[0])}${unit[1]}` : `${Math.floor(seconds)}s`;
}

/** From here on it is said louder that something is about to be decided. */
const SOON = 120;

/** `denied in 9m 05s`: minutes with their seconds, because somebody watches them pass. */
export function denied(until: string, now: number): { words: string; soon: boolean } {
  const seconds = Math.ceil((Date.parse(until) - now) / 1_000);
  if (!(seconds > 0)) return { words: "is being denied", soon: true };
  const rest = String(seconds % 60).padStart(2, "0");
  const time = seconds < 60 || seconds >= 3_600 ? span(seconds) : `${Math.floor(seconds / 60)}m ${rest}s`;
  return { words: `denied in ${time}`, soon: seconds <= SOON };
}

/** `1.2k`, `350k`, `2.1M`. */
export function thousands(count: number): string {
  if (count < 1_000) return String(count);
  const [size, letter] = count < 1_000_000 ? [1_000, "k"] : [1_000_000, "M"];
  const share = count / size;
  return `${share < 10 ? share.toFixed(1).replace(/\.0$/, "") : Math.round(share)}${letter}`;
}

/** `4 briefs`, `1 brief`. */
export function count(number: number, thing: string, things = `${thing}s`): string {
  return `${number} ${number === 1 ? thing : things}`;
}

export function money(cost: number | null | undefined, currency: string | null | undefined): string {
  if (cost === null || cost === undefined) return "unknown";
  const digits = cost < 10 ? 2 : 0;
  return currency === "USD" || !currency ? `$${cost.toFixed(digits)}` : `${cost.toFixed(digits)} ${currency}`;
}

export function shortCommit(commit: string | null | undefined): string {
  return (commit ?? "").slice(0, 10);
}
