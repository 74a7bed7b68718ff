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
    backgroundColor: "var(--leaf-wash)",
  },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--quiet)", border: "none" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-panels": { backgroundColor: "var(--sunk)", color: "var(--ink)" },
  ".cm-searchMatch": { backgroundColor: "var(--sun-wash)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--sun-wash)", outline: "1px solid var(--sun)" },
  ".cm-specialChar": { color: "var(--thorn)", backgroundColor: "var(--thorn-wash)" },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--leaf-wash)" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--thorn-wash)" },
  ".cm-changedText, &.cm-merge-b .cm-changedText": {
    background: "color-mix(in oklab, var(--leaf), transparent 72%)",
  },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {
    background: "color-mix(in oklab, var(--thorn), transparent 72%)",
  },
});

const words = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "600" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.link, color: "var(--sky)" },
  { tag: tags.url, color: "var(--sky)" },
  { tag: tags.monospace, color: "var(--sun)" },
  { tag: tags.quote, color: "var(--quiet)" },
  { tag: tags.processingInstruction, color: "var(--quiet)" },
  { tag: tags.meta, color: "var(--quiet)" },
]);

export const theme = [look, syntaxHighlighting(words)];
