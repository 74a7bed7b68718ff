//! CodeMirror as this page uses it. Only ever loaded with `import()`, because it is large.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { markdown } from "@codemirror/lang-markdown";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Prec, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, placeholder } from "@codemirror/view";
import { theme } from "./editor-theme";

interface Wishes {
  label: string;
  text: string;
  hint?: string;
  changed: (text: () => string) => void;
  save: () => void;
  leave: () => void;
}

export interface Handle {
  focus: () => void;
  destroy: () => void;
}

/** Longer texts are not coloured: the parser would be busy for seconds. */
const MAX_COLOURED = 300_000;
/** Differences are looked for with bounded effort. */
const DIFF = { scanLimit: 1_000, timeout: 400 };

function common(text: string): Extension[] {
  return [
    theme,
    EditorView.lineWrapping,
    drawSelection(),
    // Direction and zero-width characters are shown as red dots.
    highlightSpecialChars(),
    text.length < MAX_COLOURED ? markdown() : [],
  ];
}

function writable(wishes: Wishes): Extension[] {
  const doing = (run: () => void) => () => {
    run();
    return true;
  };
  return [
    Prec.highest(keymap.of([{ key: "Mod-Enter", run: doing(wishes.save) }])),
    ...common(wishes.text),
    history(),
    highlightSelectionMatches(),
    // Tab goes on to what comes next, as everywhere; Ctrl+] and Ctrl+[ indent.
    keymap.of([...searchKeymap, ...defaultKeymap, ...historyKeymap]),
    // After everything else that Escape closes.
    Prec.lowest(keymap.of([{ key: "Escape", run: doing(wishes.leave) }])),
    placeholder(wishes.hint ?? ""),
    EditorView.contentAttributes.of({ "aria-label": wishes.label, spellcheck: "true" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) wishes.changed(() => update.state.doc.toString());
    }),
  ];
}

export function edit(host: HTMLElement, wishes: Wishes): Handle {
  const view = new EditorView({ doc: wishes.text, extensions: writable(wishes), parent: host });
  return handle(view, () => view.destroy());
}

/** The other version, read-only, beside the own text, editable; one below the other where there is no room. */
export function merge(host: HTMLElement, theirs: string, wishes: Wishes, beside: boolean): Handle {
  if (!beside) {
    const shown = unifiedMergeView({ original: theirs, mergeControls: true, diffConfig: DIFF });
    const view = new EditorView({ doc: wishes.text, extensions: [...writable(wishes), shown], parent: host });
    return handle(view, () => view.destroy());
  }
  const still = [EditorState.readOnly.of(true), EditorView.contentAttributes.of({ "aria-label": "Theirs" })];
  const both = new MergeView({
    a: { doc: theirs, extensions: [...common(theirs), ...still] },
    b: { doc: wishes.text, extensions: writable(wishes) },
    parent: host,
    revertControls: "a-to-b",
    renderRevertControl: () => {
      const take = document.createElement("button");
      take.type = "button";
      take.textContent = "→";
      take.title = "Take theirs";
      take.setAttribute("aria-label", "Take theirs here");
      return take;
    },
    collapseUnchanged: { margin: 4, minSize: 12 },
    diffConfig: DIFF,
  });
  return handle(both.b, () => both.destroy());
}

function handle(view: EditorView, destroy: () => void): Handle {
  return { focus: () => view.focus(), destroy };
}
