//! Runs what the operator does: one request at a time per button, and shows why it failed.
import { toasts } from "./toasts.svelte";

/** An action of a button. Running it again while it runs does nothing. */
export class Action {
  busy = $state(false);

  /** Returns whether it succeeded; an error is shown as a toast. */
  async run(work: () => Promise<unknown>, done?: string): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    try {
      await work();
      if (done) toasts.show(done);
      return true;
    } catch (error) {
      toasts.error(error);
      return false;
    } finally {
      this.busy = false;
    }
  }
}
