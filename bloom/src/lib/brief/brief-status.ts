//! What the status of a brief means for other briefs and for its editor.
import type { Status } from "../api";

/** Its result counts: briefs that depend on it can begin. */
export function isMet(status: Status): boolean {
  return status === "landed" || status === "done";
}

/** No work on it follows. */
export function isClosed(status: Status): boolean {
  return isMet(status) || status === "cancelled";
}
