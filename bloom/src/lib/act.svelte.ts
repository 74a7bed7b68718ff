//! What the operator does: one at a time per button, and if it fails, why and what next.
import { asProblem } from "./api";
import type { Tone } from "./words";

interface Toast {
  id: number;
  text: string;
  hints: string[];
  tone: Tone;
  undo?: () => void;
  /** The dialog that it was said in. */
  within?: string;
}

/** Older ones go when more come. */
const MOST = 4;
const STAYS = 6_000;

class Toasts {
  shown = $state<Toast[]>([]);
  private dialogs: string[] = [];
  private next = 1;

  /** What is said from now on stands in this dialog, until the returned function is called; then it stands in the page. */
  enter(dialog: string): () => void {
    this.dialogs.push(dialog);
    return () => {
      this.dialogs = this.dialogs.filter((open) => open !== dialog);
      for (const toast of this.shown) if (toast.within === dialog) toast.within = undefined;
    };
  }

  /** Those of a dialog, or of the page. */
  of(dialog: string | undefined): Toast[] {
    return this.shown.filter((toast) => toast.within === dialog);
  }

  say(text: string, options: { tone?: Tone; hints?: string[]; undo?: () => void } = {}): void {
    const toast = {
      id: this.next++,
      text,
      hints: options.hints ?? [],
      tone: options.tone ?? "success",
      undo: options.undo,
      within: this.dialogs.at(-1),
    };
    this.shown = [...this.shown, toast].slice(-MOST);
    // What failed stays until it was read.
    if (toast.tone !== "danger") setTimeout(() => this.drop(toast.id), STAYS);
  }

  fail(error: unknown): void {
    const problem = asProblem(error);
    this.say(problem.message, { tone: "danger", hints: problem.hints });
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

/** Something that is being done. Asking again meanwhile does nothing. */
export class Action {
  busy = $state(false);

  /** Whether it succeeded; if not, the reason is shown. */
  async run(work: () => Promise<unknown>, done?: string): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    try {
      await work();
      if (done) toasts.say(done);
      return true;
    } catch (error) {
      toasts.fail(error);
      return false;
    } finally {
      this.busy = false;
    }
  }
}
