//! The state of a landing in words.
import type { LandingView } from "../api";

/** Whether the operator approved it; undefined where it ended before approval was decided. */
export function approvalWords(landing: Pick<LandingView, "approved" | "state">): string | undefined {
  if (landing.approved) return "by the operator";
  switch (landing.state) {
    case "approval":
      return "not yet: waiting for you";
    case "landed":
    case "rolled_back":
      return "not needed";
    case "queued":
    case "checking":
      return "not required so far";
    default:
      return undefined;
  }
}

/** The reasons that a person reads one by one: of a held landing each with its commands, else the one reason. */
export function landingReasons(landing: Pick<LandingView, "reason" | "held">): { text: string; commands: string[] }[] {
  const held = landing.held ?? [];
  if (held.length > 0) {
    return held.map(({ code, text, commands = [] }) =>
      // The commands follow on lines of their own.
      code === "commands_not_approved"
        ? { text: "these commands are not approved:", commands }
        : { text, commands: [] },
    );
  }
  return landing.reason ? [{ text: landing.reason, commands: [] }] : [];
}

/** What its changes are compared with. */
export function changesWords(landing: Pick<LandingView, "merge_commit" | "state">): string {
  if (!landing.merge_commit) return "compared with where it left MAIN";
  const isIn = landing.state === "landed" || landing.state === "rolled_back";
  return isIn ? "as merged into MAIN" : "as it would be merged into MAIN";
}
