//! The state of a landing in words.
import type { LandingView } from "../api";

/** Whether the operator had a say in it; nothing where it ended before that was known. */
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

const COMMANDS = "these commands are not approved: ";

/** Splits a reason into text and the commands in it, which are shown literally. */
export function reasonParts(reason: string): { words: string; commands?: string } {
  const at = reason.indexOf(COMMANDS);
  if (at < 0) return { words: reason };
  const end = at + COMMANDS.length;
  return { words: reason.slice(0, end).trimEnd(), commands: reason.slice(end) };
}

/** What its changes are compared with. */
export function changesWords(landing: Pick<LandingView, "merge_commit" | "state">): string {
  if (!landing.merge_commit) return "compared with where it left MAIN";
  const isIn = landing.state === "landed" || landing.state === "rolled_back";
  return isIn ? "as merged into MAIN" : "as it would be merged into MAIN";
}
