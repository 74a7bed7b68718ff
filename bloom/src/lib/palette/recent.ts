//! What was chosen in the palette lately, newest first.
const KEY = "flower.palette.recent";
const MOST = 12;

export function recent(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id): id is string => typeof id === "string") : [];
  } catch {
    return [];
  }
}

export function remember(id: string): void {
  const kept = [id, ...recent().filter((other) => other !== id)].slice(0, MOST);
  localStorage.setItem(KEY, JSON.stringify(kept));
}
