//! Syntax classes for the parts of a line.
import type { Parser } from "@lezer/common";
import { highlightTree, tagHighlighter, tags } from "@lezer/highlight";
import type { Hunk, Line } from "./parse-diff";

/** From, to, and what it is: a class of `CodeLine.svelte`. */
export type Colour = [number, number, string];
export type Colours = Map<Line, Colour[]>;

/** Files with more lines, and lines with more letters, are read without colours rather than slowly. */
export const MAX_LINES = 3_000;
const MAX_LINE_LENGTH = 1_000;

const WHAT = tagHighlighter([
  { tag: tags.comment, class: "comment" },
  { tag: [tags.keyword, tags.modifier, tags.self, tags.operatorKeyword, tags.definitionKeyword], class: "keyword" },
  { tag: [tags.string, tags.regexp, tags.attributeValue, tags.character], class: "string" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.escape, tags.color, tags.unit], class: "value" },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName, tags.macroName], class: "type" },
  {
    tag: [
      tags.function(tags.variableName),
      tags.function(tags.propertyName),
      tags.function(tags.definition(tags.variableName)),
      tags.definition(tags.propertyName),
      tags.attributeName,
      tags.labelName,
    ],
    class: "name",
  },
  { tag: [tags.meta, tags.annotation, tags.processingInstruction], class: "comment" },
  { tag: [tags.heading, tags.strong], class: "strong" },
  { tag: [tags.link, tags.url], class: "name" },
  { tag: tags.monospace, class: "string" },
]);

/** Both sides are read, each hunk for itself; a line that stayed has the colours of the new side. */
export function coloursOf(hunks: Hunk[], parser: Parser): Colours {
  const found: Colours = new Map();
  if (hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0) > MAX_LINES) return found;
  for (const hunk of hunks) {
    if (hunk.lines.some((line) => line.kind === "removed"))
      read(
        hunk.lines.filter((line) => line.kind !== "added"),
        parser,
        found,
      );
    read(
      hunk.lines.filter((line) => line.kind !== "removed"),
      parser,
      found,
    );
  }
  return found;
}

function read(lines: Line[], parser: Parser, found: Colours): void {
  // A line too long to be coloured would be slow to read as well.
  const texts = lines.map((line) => (line.text.length > MAX_LINE_LENGTH ? "" : line.text));
  const text = texts.join("\n");
  const colours: Colour[][] = lines.map(() => []);
  let at = 0;
  let start = 0;
  highlightTree(parser.parse(text), WHAT, (from, to, what) => {
    for (; at < texts.length; at += 1) {
      const end = start + (texts[at]?.length ?? 0);
      if (from < end && to > start)
        colours[at]?.push([Math.max(from - start, 0), Math.min(to, end) - start, kindOf(what)]);
      // What ends after this line goes on in the next one.
      if (to <= end) return;
      start = end + 1;
    }
  });
  lines.forEach((line, index) => found.set(line, colours[index] ?? []));
}

/** Several can hold at once, as in a heading of Markdown: the first says most. */
function kindOf(classes: string): string {
  return classes.split(" ")[0] ?? classes;
}
