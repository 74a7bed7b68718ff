//! Text that is typed while a request is under way.

/** What is left of a text once a part of it was sent: nothing, what was added behind it, or all of what it became. */
export function unsentText(now: string, sent: string): string {
  return now.startsWith(sent) ? now.slice(sent.length).trimStart() : now;
}

/** As flower counts it, in UTF-8. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
