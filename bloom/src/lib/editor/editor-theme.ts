//! How CodeMirror looks: the page's own colours, so that it follows light and dark by itself.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", fontSize: "var(--small)", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "0.7rem 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 0.85rem" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-wash)",
  },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--quiet)", border: "none" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-panels": { backgroundColor: "var(--sunk)", color: "var(--ink)" },
  ".cm-searchMatch": { backgroundColor: "var(--amber-wash)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--amber-wash)", outline: "1px solid var(--amber)" },
  ".cm-specialChar": { color: "var(--danger)", backgroundColor: "var(--danger-wash)" },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--success-wash)" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--danger-wash)" },
  ".cm-changedText, &.cm-merge-b .cm-changedText": {
    background: "color-mix(in oklab, var(--success), transparent 72%)",
  },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {
    background: "color-mix(in oklab, var(--danger), transparent 72%)",
  },
});

const words = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "600" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.link, color: "var(--info)" },
  { tag: tags.url, color: "var(--info)" },
  { tag: tags.monospace, color: "var(--amber)" },
  { tag: tags.quote, color: "var(--quiet)" },
  { tag: tags.processingInstruction, color: "var(--quiet)" },
  { tag: tags.meta, color: "var(--quiet)" },
]);

export const theme = [look, syntaxHighlighting(words)];
