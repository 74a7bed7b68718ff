//! Asks the operator before a change of a brief after which flower starts an agent by itself.
import { toasts } from "../../toasts.svelte";
import { api, ask, type BriefView } from "../../api";
import { confirmations } from "../../confirmations.svelte";
import { acceptable } from "./status-moves";
import { canBegin, laterConfirmation, pastOf, startConfirmation, wants, type Past, type Rule } from "./agent-starts";

interface Asks {
  title: string;
  /** The label of the confirm button; the agent that starts is added to it. */
  verb: string;
}

async function readPast(brief: number): Promise<Past> {
  const query = { brief, all: true, limit: 200 };
  return pastOf(await ask(api.GET("/api/dispatches", { params: { query } })));
}

/** The dependencies that are still open, in words. */
const openNeeds = (brief: BriefView) =>
  (brief.dispatchable.kinds.build?.reasons ?? [])
    .filter((reason) => reason.code === "open_dependency")
    .map((reason) => reason.message);

/** Errors are shown and count as not confirmed. */
async function orLeft(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    toasts.error(error);
    return false;
  }
}

/**
 * Whether to go on with a change to `after`. Asks where flower starts an agent by itself then and would not without it, and
 * where `anyway` gives another reason to ask.
 */
export function confirmChange(brief: BriefView, after: Partial<Rule>, asks: Asks, anyway?: string): Promise<boolean> {
  const next = { ...brief, ...after };
  return orLeft(async () => {
    const past = next.auto_dispatch || next.design_loop ? await readPast(brief.number) : undefined;
    const kind = past && wants(next, past);
    if (kind && !wants(brief, past)) {
      const question = startConfirmation(brief, kind, asks, kind === "design" ? [] : openNeeds(brief));
      return confirmations.ask(anyway ? { ...question, paragraphs: [...question.paragraphs, anyway] } : question);
    }
    return anyway ? confirmations.ask({ ...asks, paragraphs: [anyway] }) : true;
  });
}

/** Whether to accept what waits of a brief that is not shown here. Asks only where an agent starts. */
export function confirmAccept(number: number): Promise<boolean> {
  return orLeft(async () => {
    const brief = await ask(api.GET("/api/briefs/{number}", { params: { path: { number } } }));
    const waiting = acceptable(brief);
    if (waiting?.what !== "plan") return true;
    return confirmChange(
      brief,
      { status: "planned" },
      { title: `${waiting.button} of #${number}?`, verb: waiting.button },
    );
  });
}

/** Whether to drop a dependency: the last open one may hold back what flower starts by itself. */
export function confirmDrop(brief: BriefView, needs: number, lastOpen: boolean): Promise<boolean> {
  const mayStart = lastOpen && (brief.auto_dispatch || brief.design_loop);
  if (!mayStart) return Promise.resolve(true);
  return orLeft(async () => {
    const kind = wants(brief, await readPast(brief.number));
    if (!kind) return true;
    const asks = { title: `Remove #${needs} from what #${brief.number} depends on?`, verb: "Remove it" };
    return confirmations.ask(startConfirmation(brief, kind, asks, []));
  });
}

const OPTIONS = { auto_dispatch: "auto-dispatch", design_loop: "design-loop" };

/** Whether to turn an option on. Where no work can begin by itself any more there is nothing to ask. */
export function confirmOption(brief: BriefView, option: "auto_dispatch" | "design_loop"): Promise<boolean> {
  const asks = { title: `Turn on ${OPTIONS[option]} for #${brief.number}?`, verb: `Turn on ${OPTIONS[option]}` };
  return orLeft(async () => {
    const past = await readPast(brief.number);
    const kind = wants({ ...brief, [option]: true }, past);
    if (kind) return confirmations.ask(startConfirmation(brief, kind, asks, kind === "design" ? [] : openNeeds(brief)));
    return canBegin(brief, past) ? confirmations.ask(laterConfirmation(brief, option, asks)) : true;
  });
}
