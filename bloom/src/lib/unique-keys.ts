//! Unique keys for lists of names that may repeat: Svelte throws on a duplicate key.

/** Each with a key of its own: its name, and how many of that name stand before it. */
export function withUniqueKeys<T>(all: readonly T[], name: (one: T) => string): [string, T][] {
  const seen = new Map<string, number>();
  return all.map((one) => {
    const before = seen.get(name(one)) ?? 0;
    seen.set(name(one), before + 1);
    return [`${before} ${name(one)}`, one];
  });
}
