//! Formatting of numbers, times and names.

export function humanize(word: string): string {
  return word.replaceAll("_", " ");
}

const UNITS: [number, string][] = [
  [365 * 86_400, "y"],
  [30 * 86_400, "mo"],
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
];

/** `3h ago`; less than ten seconds ago, or in the future, is `now`. */
export function timeAgo(then: number, now: number): string {
  const seconds = Math.floor((now - then) / 1_000);
  if (seconds < 10) return "now";
  return `${duration(seconds)} ago`;
}

/** `3h`, `45s`. */
export function duration(seconds: number): string {
  const unit = UNITS.find(([size]) => seconds >= size);
  return unit ? `${Math.floor(seconds / unit[0])}${unit[1]}` : `${Math.floor(seconds)}s`;
}

/** With less time than this left, a countdown is shown as urgent. */
const URGENT_SECONDS = 120;

/** `denied in 9m 05s`. */
export function denialCountdown(until: string, now: number): { words: string; soon: boolean } {
  const seconds = Math.ceil((Date.parse(until) - now) / 1_000);
  if (!(seconds > 0)) return { words: "is being denied", soon: true };
  const rest = String(seconds % 60).padStart(2, "0");
  const time = seconds < 60 || seconds >= 3_600 ? duration(seconds) : `${Math.floor(seconds / 60)}m ${rest}s`;
  return { words: `denied in ${time}`, soon: seconds <= URGENT_SECONDS };
}

/** `1.2k`, `350k`, `2.1M`. */
export function compactNumber(count: number): string {
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
