//! flower's words and tones for what the daemon tells.
import type { AgentState, EventView, Status } from "./api";

/** `leaf` holds, `petal` asks for you, `sun` is in motion, `thorn` is broken, `sky` is an agent or a way to go. */
export type Tone = "leaf" | "petal" | "sun" | "thorn" | "sky" | "plain";

export function spaced(word: string): string {
  return word.replaceAll("_", " ");
}

const STATUS: Record<Status, Tone> = {
  draft: "plain",
  planned: "sky",
  in_progress: "sun",
  in_review: "petal",
  landed: "leaf",
  done: "leaf",
  parked: "plain",
  cancelled: "plain",
};

export function statusTone(status: string): Tone {
  return STATUS[status as Status] ?? "plain";
}

const AGENT: Record<AgentState, Tone> = {
  starting: "sun",
  working: "sun",
  waiting: "petal",
  idle: "sky",
  stopped: "plain",
  failed: "thorn",
  unknown: "thorn",
};

export function agentTone(state: string): Tone {
  return AGENT[state as AgentState] ?? "plain";
}

const LANDING: Record<string, Tone> = {
  queued: "plain",
  checking: "sun",
  approval: "petal",
  landed: "leaf",
  rejected: "thorn",
  rolled_back: "thorn",
  cancelled: "plain",
};

export function landingTone(state: string): Tone {
  return LANDING[state] ?? "plain";
}

const DISPATCH: Record<string, Tone> = {
  requested: "sky",
  claimed: "sun",
  executing: "sun",
  handed_back: "petal",
  landed: "leaf",
  failed: "thorn",
  cancelled: "plain",
};

export function dispatchTone(state: string): Tone {
  return DISPATCH[state] ?? "plain";
}

const MAIN: Record<string, Tone> = {
  stable: "leaf",
  frozen: "sky",
  dirty: "thorn",
  moved: "thorn",
  unhealthy: "thorn",
  unknown: "thorn",
};

export function mainTone(state: string): Tone {
  return MAIN[state] ?? "plain";
}

const WAITING: Record<string, Tone> = {
  question: "petal",
  permission: "petal",
  approval: "petal",
  alarm: "thorn",
  message: "sky",
};

export function inboxTone(kind: string): Tone {
  return WAITING[kind] ?? "petal";
}

const EVENT: [RegExp, Tone][] = [
  [/^(landed|dispatch_landed|spec_snapshot|decision_made|main_settled|landing_approved)$/, "leaf"],
  [/(rejected|rolled_back|failed|refused|breached|diverged|main_alarm|dispatch_late|expired)$/, "thorn"],
  [/^(question_asked|permission_asked|landing_held|plan_proposed)$/, "petal"],
  [/^(dispatch_|landing_|checks_ran|agent_)/, "sun"],
];

export function eventTone(event: EventView): Tone {
  return EVENT.find(([pattern]) => pattern.test(event.kind))?.[1] ?? "plain";
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
