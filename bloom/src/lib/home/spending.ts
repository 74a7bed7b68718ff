//! The spend of agents in words; unreported spend is unknown, not nothing.
import type { AgentView, BriefView, SpendView, SpentView } from "../api";
import { money, compactNumber } from "../format";

/** Of some agents together. */
export function spentBy(agents: AgentView[]): string {
  const told = agents.filter((agent) => agent.cost !== null && agent.cost !== undefined);
  if (agents.length === 0) return "";
  if (told.length === 0) return "unknown";
  const sum = told.reduce((all, agent) => all + (agent.cost ?? 0), 0);
  return `${money(sum, told[0]?.currency)}${told.length < agents.length ? " +" : ""}`;
}

/** Of a day, by its name as in `2026-01-31`. */
export function spentOn(spending: SpendView, day: string): string {
  const spent = spending.days.find((one) => one.of === day);
  if (!spent) return "nothing";
  const limit = spending.per_day ? ` of ${money(spending.per_day, spent.currency)}` : "";
  if (spent.cost === null || spent.cost === undefined)
    return spent.tokens ? `${compactNumber(spent.tokens)} tokens` : "unknown";
  return `${money(spent.cost, spent.currency)}${limit}`;
}

/** `34k tokens · $1.20`. */
export function spent(one: SpentView): string {
  const isKnown = (figure: number | null | undefined) => figure !== null && figure !== undefined;
  const tokens = isKnown(one.tokens) ? `${compactNumber(one.tokens ?? 0)} tokens` : "tokens unknown";
  return `${tokens} · ${isKnown(one.cost) ? money(one.cost, one.currency) : "cost unknown"}`;
}

/** Of the brief that was asked for, or nothing where no agent has worked on it. */
export function spentFor(spending: SpendView, brief: Pick<BriefView, "number" | "participants">): string | undefined {
  const own = spending.briefs.find((one) => one.of === String(brief.number));
  if (own && (own.tokens ?? own.cost ?? undefined) !== undefined) return spent(own);
  return brief.participants.some((one) => one.type === "agent") ? "unknown" : undefined;
}
