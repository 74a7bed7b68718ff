//! Invisible characters that change how text reads. They are marked in all text of other authors.

const HIDDEN: [RegExp, string][] = [
  [/[\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/u, "direction"],
  [/[\u200B-\u200D\u2060\uFEFF\u00AD\u180E]/u, "invisible"],
  [/[\u{E0000}-\u{E007F}]/u, "tag"],
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  [/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/u, "control"],
];
const ANY = new RegExp(HIDDEN.map(([pattern]) => pattern.source).join("|"), "gu");
const LETTERS = /[\p{L}\p{M}\p{N}_]+/gu;

/** A piece of text; `why` says what is odd about it. */
interface Piece {
  text: string;
  why?: string;
  /** The hidden character that `text` names instead of showing it. */
  hidden?: string;
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Whether the text has hidden characters. */
export function hasHiddenCharacters(text: string): boolean {
  return text.search(ANY) >= 0;
}

/** Splits text where something hidden stands; the hidden is named instead of shown. */
export function splitHidden(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(ANY)) {
    // Joins the parts of an emoji.
    if (match[0] === "\u200D" && /\p{Extended_Pictographic}/u.test(text.slice(match.index + 1, match.index + 3)))
      continue;
    if (match.index > at) found.push({ text: text.slice(at, match.index) });
    const why = HIDDEN.find(([pattern]) => pattern.test(match[0]))?.[1] ?? "hidden";
    found.push({ text: codePoint(match[0]), why: `${why} character`, hidden: match[0] });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ text: text.slice(at) });
  return found;
}

/** The same for code, where a word that mixes alphabets is odd too: `раypal` with Cyrillic letters. */
export function splitHiddenInCode(text: string): Piece[] {
  return splitHidden(text).flatMap((piece) => (piece.why ? [piece] : mixed(piece.text)));
}

function mixed(text: string): Piece[] {
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  if (/^[\u0000-\u024F]*$/.test(text)) return [{ text }];
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(LETTERS)) {
    const word = match[0];
    const foreign = /\p{Script=Cyrillic}|\p{Script=Greek}|[\uFF21-\uFF5A]/u.test(word);
    if (!foreign || !/[A-Za-z]/.test(word)) continue;
    if (match.index > at) found.push({ text: text.slice(at, match.index) });
    found.push({ text: word, why: "letters of two alphabets in one word" });
    at = match.index + word.length;
  }
  if (at < text.length) found.push({ text: text.slice(at) });
  return found;
}

/** Marks what is hidden in a tree of elements. */
export function markHiddenCharacters(root: DocumentFragment): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const odd: Text[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeValue?.match(ANY)) odd.push(node as Text);
  }
  for (const node of odd) {
    const parts = splitHidden(node.nodeValue ?? "").map((piece) => {
      if (!piece.why) return document.createTextNode(piece.text);
      const mark = document.createElement("mark");
      mark.className = "hidden-character";
      mark.title = piece.why;
      mark.textContent = piece.text;
      return mark;
    });
    node.replaceWith(...parts);
  }
}
