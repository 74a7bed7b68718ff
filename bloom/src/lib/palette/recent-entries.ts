//! The entries last chosen in the palette, newest first.
const KEY = "flower.palette.recent";
const MAX_ENTRIES = 12;

export function recentEntries(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id): id is string => typeof id === "string") : [];
  } catch {
    return [];
  }
}

export function rememberEntry(id: string): void {
  const kept = [id, ...recentEntries().filter((other) => other !== id)].slice(0, MAX_ENTRIES);
  localStorage.setItem(KEY, JSON.stringify(kept));
}
