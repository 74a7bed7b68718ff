//! Short messages about the result of an action.
import { asProblem } from "./api";
import type { Tone } from "./tones";

interface Toast {
  id: number;
  text: string;
  hints: string[];
  tone: Tone;
  undo?: () => void;
  /** The dialog in which it is shown. */
  within?: string;
}

/** Older toasts make room for newer ones. */
const MAX_SHOWN = 4;
const DISMISS_AFTER = 6_000;

class Toasts {
  shown = $state<Toast[]>([]);
  private dialogs: string[] = [];
  private next = 1;

  /** Shows toasts inside a dialog until the returned function is called; then they move to the page. */
  enter(dialog: string): () => void {
    this.dialogs.push(dialog);
    return () => {
      this.dialogs = this.dialogs.filter((open) => open !== dialog);
      for (const toast of this.shown) if (toast.within === dialog) toast.within = undefined;
    };
  }

  /** The toasts of a dialog, or of the page. */
  of(dialog: string | undefined): Toast[] {
    return this.shown.filter((toast) => toast.within === dialog);
  }

  show(text: string, options: { tone?: Tone; hints?: string[]; undo?: () => void } = {}): void {
    const toast = {
      id: this.next++,
      text,
      hints: options.hints ?? [],
      tone: options.tone ?? "success",
      undo: options.undo,
      within: this.dialogs.at(-1),
    };
    this.shown = [...this.shown, toast].slice(-MAX_SHOWN);
    // Errors stay until they are dismissed.
    if (toast.tone !== "danger") setTimeout(() => this.drop(toast.id), DISMISS_AFTER);
  }

  error(error: unknown): void {
    const problem = asProblem(error);
    this.show(problem.message, { tone: "danger", hints: problem.hints });
  }

  drop(id: number): void {
    this.shown = this.shown.filter((toast) => toast.id !== id);
  }

  undo(toast: Toast): void {
    this.drop(toast.id);
    toast.undo?.();
  }
}

export const toasts = new Toasts();
