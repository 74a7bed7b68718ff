//! Fuzzy matching: every word must match, its letters in order, the closer together the better.

interface FuzzyMatch {
  score: number;
  /** First character and length of what fits, in UTF-16 units, in order. */
  marks: [number, number][];
}

const WHOLE = 100;
const BEGIN = 60;
const WORD = 40;
const INSIDE = 20;
const SCATTERED = 4;
/** Longer texts are only looked at so far. */
const MAX_SEARCHED = 400;

/** Nothing if some word does not fit at all. */
export function fuzzyMatch(typed: string, text: string): FuzzyMatch | undefined {
  return matcher(typed)(text);
}

/** The same for many texts. */
export function matcher(typed: string): (text: string) => FuzzyMatch | undefined {
  const words = typed.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => fitWords(words, text);
}

function fitWords(words: string[], text: string): FuzzyMatch | undefined {
  const lower = lowered(text.slice(0, MAX_SEARCHED));
  let score = 0;
  const marks: [number, number][] = [];
  for (const word of words) {
    const found = inOne(word, lower) ?? scattered(word, lower);
    if (!found) return undefined;
    score += found.score;
    marks.push(...found.marks);
  }
  // Of two equal matches the shorter text wins.
  return { score: score - Math.min(text.length, MAX_SEARCHED) / MAX_SEARCHED, marks: joined(marks) };
}

/** Lower case that keeps every character where it was. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function isStart(text: string, at: number): boolean {
  return at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? "");
}

function inOne(word: string, text: string): FuzzyMatch | undefined {
  let best: FuzzyMatch | undefined;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const score = text === word ? WHOLE : at === 0 ? BEGIN : isStart(text, at) ? WORD : INSIDE;
    if (!best || score > best.score) best = { score, marks: [[at, word.length]] };
    if (score >= WORD) break;
  }
  return best;
}

/** `nb` fits `New brief`: each letter begins a word or follows the one before it. */
function scattered(word: string, text: string): FuzzyMatch | undefined {
  const marks: [number, number][] = [];
  let at = -1;
  for (const letter of word) {
    let next = text.indexOf(letter, at + 1);
    while (next >= 0 && next !== at + 1 && !isStart(text, next)) next = text.indexOf(letter, next + 1);
    if (next < 0) return undefined;
    marks.push([next, letter.length]);
    at = next + letter.length - 1;
  }
  return { score: SCATTERED, marks };
}

function joined(marks: [number, number][]): [number, number][] {
  const whole: [number, number][] = [];
  for (const [at, length] of marks.sort((a, b) => a[0] - b[0])) {
    const last = whole.at(-1);
    if (last && at <= last[0] + last[1]) last[1] = Math.max(last[1], at + length - last[0]);
    else whole.push([at, length]);
  }
  return whole;
}
