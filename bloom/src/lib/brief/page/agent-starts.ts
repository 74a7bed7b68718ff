//! Which agent flower starts by itself after a change of a brief. The page asks before it sends such a change.
import type { BriefKind, BriefView, DispatchKind, DispatchView, Status } from "../../api";
import type { Confirmation } from "../../confirmations.svelte";

export type Rule = Pick<BriefView, "kind" | "status" | "auto_dispatch" | "design_loop">;
type Named = Pick<BriefView, "number" | "title" | "projects">;
/** What was dispatched before: flower dispatches nothing twice by itself. */
export interface Past {
  designed: boolean;
  dispatched: boolean;
}

const NATURAL: Record<BriefKind, DispatchKind> = {
  feature: "build",
  fix: "build",
  epic: "build",
  note: "research",
  research: "research",
  incident: "ops",
};
const AGENT: Record<DispatchKind, string> = {
  design: "a design agent",
  build: "a build agent",
  review: "a review agent",
  research: "a research agent",
  ops: "an ops agent",
  fix: "a fix agent",
};
const WORK: Record<DispatchKind, string> = {
  design: "to write a design for",
  build: "to build",
  review: "to review",
  research: "to research",
  ops: "to carry out",
  fix: "to fix",
};

export function pastOf(dispatches: Pick<DispatchView, "kind">[]): Past {
  const designs = dispatches.filter((one) => one.kind === "design").length;
  return { designed: designs > 0, dispatched: dispatches.length > designs };
}

/** What flower dispatches by itself once no dependency is open: the server's rule, `Brief::wants`. */
export function wants({ kind, status, auto_dispatch, design_loop }: Rule, past: Past): DispatchKind | undefined {
  if (kind === "epic") return undefined;
  if (status === "draft") return auto_dispatch && design_loop && !past.designed ? "design" : undefined;
  if (status !== "planned" || past.dispatched) return undefined;
  return auto_dispatch || (design_loop && past.designed) ? NATURAL[kind] : undefined;
}

const STARTABLE: Status[] = ["draft", "planned", "parked"];

/** Whether work on it can still begin by itself, now or later. */
export function canBegin({ kind, status }: Pick<Rule, "kind" | "status">, past: Past): boolean {
  return kind !== "epic" && STARTABLE.includes(status) && !past.dispatched;
}

const DEFAULT =
  "What it spends counts as usual. `[agents] default` in flower.toml names the default agent; without one, the dispatch waits until an agent claims it.";

/** The agent, what it does and with which brief. */
const start = (brief: Named, kind: DispatchKind, when: string) =>
  `the default agent of ${brief.projects[0]?.name ?? "the project"} starts ${when} ${WORK[kind]} #${brief.number} “${brief.title}”`;
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const SILENTLY = "without another question";

/** For an agent that starts at once, or, with `waits`, once the reasons are settled. */
export function startConfirmation(
  brief: Named,
  kind: DispatchKind,
  asks: { title: string; verb: string },
  waits: string[],
): Confirmation {
  if (waits.length > 0) {
    return { ...asks, paragraphs: [`${capital(start(brief, kind, SILENTLY))}, once this is settled:`], list: waits };
  }
  const paragraphs = [`${capital(start(brief, kind, "at once"))}.`, DEFAULT];
  return { title: asks.title, paragraphs, verb: `${asks.verb} and start ${AGENT[kind]}` };
}

/** For a switch that starts nothing now, and an agent later without another question. */
export function laterConfirmation(
  brief: Named & Pick<Rule, "kind">,
  option: "auto_dispatch" | "design_loop",
  asks: { title: string; verb: string },
): Confirmation {
  const begin = start(brief, NATURAL[brief.kind], SILENTLY);
  const paragraphs =
    option === "auto_dispatch"
      ? `As soon as its plan is accepted and everything it depends on is in MAIN, ${begin}.`
      : `A dispatch of it begins with a design. As soon as you accept that design, ${begin}.`;
  return { ...asks, paragraphs: [paragraphs, DEFAULT] };
}
