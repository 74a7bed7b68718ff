//! Follows the transcript of an agent by long polling while the window is visible.
import { api, ask, asProblem, type Problem, type TranscriptView } from "../api";
import { Items, type Item } from "./transcript";

/** What the daemon gives at once, in bytes. */
const PAGE = 256 * 1024;
/** How much is read at once to show earlier entries. */
const MORE = 4 * PAGE;
const MIN_RETRY_DELAY = 500;
const MAX_RETRY_DELAY = 4_000;

export class TranscriptFollower {
  items = $state.raw<Item[]>([]);
  loaded = $state(false);
  /** Nothing will follow. */
  over = $state(false);
  problem = $state.raw<Problem>();
  /** There are earlier entries. */
  earlier = $state(false);
  reading = $state(false);

  private known = new Items();
  private start = 0;
  private next = 0;

  constructor(
    private readonly name: string,
    /** Called whenever there was more. */
    private readonly grew: () => void = () => undefined,
  ) {}

  private page(after: number | undefined, wait: boolean, signal?: AbortSignal): Promise<TranscriptView> {
    const query = { after, wait: wait || undefined };
    return ask(api.GET("/api/agents/{name}/log", { params: { path: { name: this.name }, query }, signal }));
  }

  /** Follows until the returned function is called. */
  begin(): () => void {
    const gone = new AbortController();
    void this.run(gone.signal);
    return () => gone.abort();
  }

  private async run(gone: AbortSignal): Promise<void> {
    let wait = MIN_RETRY_DELAY;
    while (!gone.aborted && !this.over) {
      await untilVisible(gone);
      // A hidden window gives its connection back.
      const hidden = new AbortController();
      const hide = () => document.hidden && hidden.abort();
      document.addEventListener("visibilitychange", hide);
      try {
        const first = !this.loaded;
        const after = first ? undefined : this.next;
        const page = await this.page(after, !first, AbortSignal.any([gone, hidden.signal]));
        if (gone.aborted) return;
        // `readEarlier` has read these entries meanwhile.
        if (!first && after !== this.next) continue;
        this.take(page, first);
        wait = MIN_RETRY_DELAY;
      } catch (error) {
        if (gone.aborted) return;
        if (!hidden.signal.aborted) {
          this.problem = asProblem(error);
          if (this.problem.status === 404) return;
          await new Promise((done) => setTimeout(done, wait));
          wait = Math.min(wait * 2, MAX_RETRY_DELAY);
        }
      } finally {
        document.removeEventListener("visibilitychange", hide);
      }
    }
  }

  private take(page: TranscriptView, first: boolean): void {
    if (first) {
      this.start = Math.max(0, page.next - PAGE);
      this.earlier = this.start > 0;
    }
    this.problem = undefined;
    this.loaded = true;
    this.next = page.next;
    this.over = page.over;
    if (page.entries.length === 0) return;
    this.items = this.known.take(page.entries);
    if (!first) this.grew();
  }

  /** Reads again from further back on: entries have no places of their own, only pages have. */
  async readEarlier(): Promise<void> {
    if (this.reading || !this.earlier) return;
    this.reading = true;
    try {
      const start = Math.max(0, this.start - MORE);
      const known = new Items();
      let items: Item[] = [];
      for (let at = start, more = true; more && at < this.next;) {
        const page = await this.page(at, false);
        items = known.take(page.entries);
        more = page.more;
        at = page.next;
        if (at >= this.next) this.next = at;
      }
      [this.known, this.items, this.start] = [known, items, start];
      this.earlier = start > 0 && known.dropped === 0;
    } catch (error) {
      this.problem = asProblem(error);
    } finally {
      this.reading = false;
    }
  }
}

/** Waits until the window is visible, or until the signal. */
export function untilVisible(gone: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const see = () => {
      if (document.hidden && !gone.aborted) return;
      document.removeEventListener("visibilitychange", see);
      resolve();
    };
    document.addEventListener("visibilitychange", see);
    gone.addEventListener("abort", see, { once: true });
  });
}
