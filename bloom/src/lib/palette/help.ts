//! Shortcuts in words and groups.
import type { Deed } from "../keys.svelte";

const NAMES: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Enter: "↵",
  Escape: "esc",
  " ": "space",
};

function onMac(): boolean {
  return typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
}

/** `g b` as two keys; `mod+k` as this machine writes it. */
export function shown(keys: string, mac = onMac()): string[] {
  if (keys.startsWith("mod+")) return [`${mac ? "⌘" : "Ctrl "}${keys.slice(4).toUpperCase()}`];
  return keys.split(" ").map((key) => NAMES[key] ?? key);
}

/** Of two with the same keys the newer one counts, and only what has keys is a shortcut. */
export function byGroup(deeds: Deed[]): { name: string; deeds: Deed[] }[] {
  const groups = new Map<string, Deed[]>();
  for (const deed of latest(deeds)) {
    if (!deed.keys || deeds.findLast((other) => other.keys === deed.keys) !== deed) continue;
    groups.set(deed.group, [...(groups.get(deed.group) ?? []), deed]);
  }
  return [...groups].map(([name, own]) => ({ name, deeds: own }));
}

/** What several parts of the page offer under one name is one deed. */
export function latest(deeds: Deed[]): Deed[] {
  return [...new Map(deeds.map((deed) => [deed.id, deed])).values()];
}
