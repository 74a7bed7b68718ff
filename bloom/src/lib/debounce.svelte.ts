//! Debounces the input of a search field. Leaving the page cancels it.
import { onDestroy } from "svelte";
import { beforeNavigate } from "$app/navigation";

export class Debounce {
  /** Input has not settled yet. */
  pending = $state(false);
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** For a component of the page at `path`. */
  constructor(
    path: string,
    private readonly delay: number,
    private readonly settled: () => void,
  ) {
    onDestroy(() => this.cancel());
    // A late call would navigate back to this page.
    beforeNavigate(({ to }) => {
      if (to?.url.pathname !== path) this.cancel();
    });
  }

  readonly trigger = (): void => {
    clearTimeout(this.timer);
    this.pending = true;
    this.timer = setTimeout(() => {
      this.pending = false;
      this.settled();
    }, this.delay);
  };

  private cancel(): void {
    clearTimeout(this.timer);
    this.pending = false;
  }
}
