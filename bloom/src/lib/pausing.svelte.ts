//! What is typed into a search counts once somebody pauses, and never after they have left its page.
import { onDestroy } from "svelte";
import { beforeNavigate } from "$app/navigation";

export class Pausing {
  /** Somebody is still at it. */
  waits = $state(false);
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** For a component of the page at `path`. */
  constructor(
    path: string,
    private readonly pause: number,
    private readonly settled: () => void,
  ) {
    onDestroy(() => this.forget());
    // Whoever is on the way elsewhere is not brought back.
    beforeNavigate(({ to }) => {
      if (to?.url.pathname !== path) this.forget();
    });
  }

  readonly more = (): void => {
    clearTimeout(this.timer);
    this.waits = true;
    this.timer = setTimeout(() => {
      this.waits = false;
      this.settled();
    }, this.pause);
  };

  private forget(): void {
    clearTimeout(this.timer);
    this.waits = false;
  }
}
