//! What can be done with a brief by hand, for each status. The server has the last word on all of it.
import type { BriefView, Status } from "../../api";
import { humanize } from "../../format";

export interface StatusMove {
  to: Status;
  label: string;
  hint: string;
  /** After `s`. */
  key: string;
  /** The label of the confirm button, for a move that is confirmed with a reason. */
  sure?: string;
  /** Which agent flower may start after it. Such a move is always confirmed. */
  starts?: string;
}

const STARTS_FIX = "If its last landing was rejected or reverted, an agent starts at once to fix it.";

const PARK: StatusMove = {
  to: "parked",
  label: "Park",
  hint: "keep it for later, as it is",
  key: "p",
  sure: "Park it",
};
const CANCEL: StatusMove = {
  to: "cancelled",
  label: "Cancel",
  hint: "it will not be done; this is final",
  key: "c",
  sure: "Cancel it",
};
const BACK: StatusMove = {
  to: "in_progress",
  label: "Send back to work",
  hint: "more work is needed",
  key: "w",
  sure: "Send it back",
  starts: STARTS_FIX,
};
/** Only for results without code: changed code is landed instead. */
const DONE: StatusMove = {
  to: "done",
  label: "Done",
  hint: "its result is accepted, and it changed no code; this is final",
  key: "d",
  sure: "Mark it as done",
};

type Movable = Pick<BriefView, "status" | "links" | "parked_from" | "auto_dispatch" | "design_loop">;

export function statusMoves(brief: Movable): StatusMove[] {
  switch (brief.status) {
    case "draft":
      return [PARK, CANCEL];
    case "planned":
      return [
        {
          to: "in_progress",
          label: "Start by hand",
          hint: "you work on it without a dispatch",
          key: "b",
          sure: "Start by hand",
          starts: STARTS_FIX,
        },
        PARK,
        CANCEL,
      ];
    case "in_progress":
      return [
        { to: "in_review", label: "Send to review", hint: "the work is ready for review", key: "r" },
        PARK,
        CANCEL,
      ];
    case "in_review":
      return [...(changedCode(brief) ? [] : [DONE]), BACK, PARK, CANCEL];
    case "parked":
      return [unpark(brief), CANCEL];
    default:
      return [];
  }
}

function unpark(brief: Movable): StatusMove {
  const before = brief.parked_from ?? "draft";
  const move = { to: before, label: "Resume", hint: `back to ${humanize(before)}`, key: "u" };
  if (before === "in_progress") return { ...move, sure: "Resume it", starts: STARTS_FIX };
  const byItself = brief.auto_dispatch || brief.design_loop;
  if (!byItself || (before !== "planned" && before !== "draft")) return move;
  const option = brief.auto_dispatch ? "Auto-dispatch" : "Design-loop";
  const starts = `${option} is on: the default agent starts on it as soon as everything it depends on is in MAIN.`;
  return { ...move, sure: "Resume and start an agent", starts };
}

function changedCode(brief: Pick<BriefView, "links">): boolean {
  return brief.links.some((link) => link.kind === "commit");
}

export interface Acceptable {
  what: "plan" | "refinement" | "result";
  button: string;
  says: string;
}

/** What waits to be accepted, if anything. */
export function acceptable(brief: Pick<BriefView, "status" | "spec" | "links">): Acceptable | undefined {
  const { version, accepted_version: accepted } = brief.spec;
  if (brief.status === "draft" && version > 0) {
    return { what: "plan", button: "Accept plan", says: `Plan version ${version} waits for you.` };
  }
  if ((brief.status === "planned" || brief.status === "in_progress") && (accepted ?? 0) < version) {
    const says = `Version ${version} waits for you; version ${accepted ?? 0} is the accepted one.`;
    return { what: "refinement", button: "Accept changes", says };
  }
  // Code changes are accepted by landing them.
  if (brief.status === "in_review" && !changedCode(brief)) {
    return { what: "result", button: "Accept result", says: "The result waits for you." };
  }
  return undefined;
}
