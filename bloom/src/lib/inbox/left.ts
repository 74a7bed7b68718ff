//! How long something still waits before it is decided without anybody.
import { span } from "../words";

/** From here on it is said louder. */
const SOON = 120;

export interface Left {
  words: string;
  soon: boolean;
}

/** Minutes with their seconds, because somebody watches them pass. */
export function left(until: string, now: number): Left {
  const seconds = Math.ceil((Date.parse(until) - now) / 1_000);
  if (!(seconds > 0)) return { words: "is being denied", soon: true };
  const minutes = Math.floor(seconds / 60);
  const time =
    seconds < 60
      ? `${seconds}s`
      : minutes < 60
        ? `${minutes}m ${String(seconds % 60).padStart(2, "0")}s`
        : span(seconds);
  return { words: `denied in ${time}`, soon: seconds <= SOON };
}
