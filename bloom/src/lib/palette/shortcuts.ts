//! Shortcuts as labels and groups.
import type { Command } from "../commands.svelte";

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
export function keyLabels(keys: string, mac = onMac()): string[] {
  if (keys.startsWith("mod+")) return [`${mac ? "⌘" : "Ctrl "}${keys.slice(4).toUpperCase()}`];
  return keys.split(" ").map((key) => NAMES[key] ?? key);
}

/** The commands with keys; of two with the same keys the newer one. */
export function shortcutGroups(commands: Command[]): { name: string; commands: Command[] }[] {
  const groups = new Map<string, Command[]>();
  for (const command of uniqueCommands(commands)) {
    if (!command.keys || commands.findLast((other) => other.keys === command.keys) !== command) continue;
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  }
  return [...groups].map(([name, own]) => ({ name, commands: own }));
}

/** Commands that several parts of the page register under one name, as one. */
export function uniqueCommands(commands: Command[]): Command[] {
  return [...new Map(commands.map((command) => [command.id, command])).values()];
}
