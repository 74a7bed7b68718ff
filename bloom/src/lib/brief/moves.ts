//! What can be done with a brief by hand, for each status. The server has the last word on all of it.
import type { BriefView, Status } from "../api";
import { spaced } from "../words";

export interface Move {
  to: Status;
  label: string;
  hint: string;
  /** Asked about once more, with room for a reason. */
  careful?: boolean;
}

const PARK: Move = { to: "parked", label: "Park", hint: "keep it for later, as it is", careful: true };
const CANCEL: Move = { to: "cancelled", label: "Cancel", hint: "it will not be done; this is final", careful: true };

export function moves(brief: Pick<BriefView, "status" | "dispatchable">): Move[] {
  switch (brief.status) {
    case "draft":
      return [PARK, CANCEL];
    case "planned":
      return [
        { to: "in_progress", label: "Begin by hand", hint: "somebody works on it without a dispatch" },
        PARK,
        CANCEL,
      ];
    case "in_progress":
      return [{ to: "in_review", label: "Send to review", hint: "the work is there to be looked at" }, PARK, CANCEL];
    case "in_review":
      return [{ to: "in_progress", label: "Send back to work", hint: "something is still to do" }, PARK, CANCEL];
    case "parked": {
      const before = parkedFrom(brief);
      return [{ to: before, label: "Take up again", hint: `as ${spaced(before)}, where it was` }, CANCEL];
    }
    default:
      return [];
  }
}

/** The reason why a parked brief is not dispatched names the status that it had. */
function parkedFrom(brief: Pick<BriefView, "dispatchable">): Status {
  const reasons = [
    ...brief.dispatchable.reasons,
    ...Object.values(brief.dispatchable.kinds).flatMap((kind) => kind.reasons),
  ];
  const parked = reasons.find((reason) => reason.code === "parked")?.message ?? "";
  const named = /brief status \d+ (draft|planned|in_progress|in_review)\b/.exec(parked)?.[1];
  return (named as Status | undefined) ?? "draft";
}

interface Acceptable {
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
  // What changed code is accepted by landing it.
  if (brief.status === "in_review" && !brief.links.some((link) => link.kind === "commit")) {
    return { what: "result", button: "Accept result", says: "The result waits for you." };
  }
  return undefined;
}
