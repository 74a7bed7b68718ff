//! Splits text at search matches.

interface Part {
  text: string;
  found: boolean;
}

/** Marks are first character and length, counted as JavaScript does. */
export function splitMarks(text: string, marks: readonly (readonly [number, number])[]): Part[] {
  const cut: Part[] = [];
  let at = 0;
  for (const [start, length] of marks) {
    if (start < at || start + length > text.length) continue;
    if (start > at) cut.push({ text: text.slice(at, start), found: false });
    cut.push({ text: text.slice(start, start + length), found: true });
    at = start + length;
  }
  if (at < text.length) cut.push({ text: text.slice(at), found: false });
  return cut;
}

/** Marks as the daemon gives them: it counts whole characters, so that an emoji is one. */
export function marksFromCharacters(text: string, marks: readonly (readonly unknown[])[]): [number, number][] {
  const starts = [0];
  for (const character of text) starts.push((starts.at(-1) ?? 0) + character.length);
  return marks.flatMap(([first, length]) => {
    const start = starts[Number(first)];
    const end = starts[Number(first) + Number(length)];
    return start === undefined || end === undefined ? [] : [[start, end - start] as [number, number]];
  });
}
