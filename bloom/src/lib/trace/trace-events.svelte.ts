//! Loads events: the newest at once, older ones page by page, new ones live. Loaded events stay
//! valid, because the log is append-only.
import { untrack } from "svelte";
import { api, ask, asProblem, type EventView, type Problem } from "../api";
import { Resource } from "../live.svelte";

/** So many pages are read at once to find something that is wanted. */
const MAX_PAGES = 10;

/** Which events: all of them by default. */
export interface TraceScope {
  brief?: number | undefined;
  project?: string | undefined;
}

interface Sizes {
  first: number;
  page: number;
  /** The most events kept in memory. */
  max: number;
}

export class TraceEvents {
  /** Newest first. */
  events = $state.raw<EventView[]>([]);
  /** There is nothing older, or nothing older is kept. */
  ended = $state<"no" | "beginning" | "full">("no");
  readingOlder = $state(false);
  private olderProblem = $state.raw<Problem>();
  /** The newest event that was announced, and the newest one that was read. */
  private heard = 0;
  private looked = 0;
  /** Reads the newest events, then those after the last known one. */
  private readonly newest = new Resource(
    () => this.catchUp(),
    // Only the daemon knows which events belong to a project.
    (update) => {
      this.heard = Math.max(this.heard, ...update.events.map((event) => event.seq));
      return update.events.some((event) => this.of.brief === undefined || event.brief === this.of.brief);
    },
  );

  constructor(
    readonly of: TraceScope,
    private readonly sizes: Sizes,
    /** The newest event that is known of otherwise. */
    private readonly known: () => number = () => 0,
  ) {}

  get loaded(): boolean {
    return this.newest.data !== undefined;
  }

  get problem(): Problem | undefined {
    return this.newest.problem ?? this.olderProblem;
  }

  start(): () => void {
    // It reads on from what it has, which is no reason to begin anew.
    return untrack(() => this.newest.start());
  }

  refresh(): void {
    this.olderProblem = undefined;
    void this.newest.refresh();
  }

  /**
   * Everything up to what was told of when the reading began is there when it ends. The next one begins behind that: a quiet
   * project may have said its last word a million events ago, and they are not gone through for each new one.
   */
  private async catchUp(): Promise<true> {
    const { first, page: size } = this.sizes;
    const upTo = Math.max(this.heard, this.known());
    for (;;) {
      const after = Math.max(this.events[0]?.seq ?? 0, this.looked) || undefined;
      const page = await this.page(after === undefined ? { limit: first } : { after, limit: size });
      if (after === undefined && page.length < first) this.ended = "beginning";
      this.add(page);
      if (after === undefined || page.length < size) break;
    }
    this.looked = Math.max(this.looked, upTo);
    return true;
  }

  /** One page further back, or as many as it takes to find one that is wanted; whether there was one. */
  async older(wanted: (event: EventView) => boolean = () => true): Promise<boolean> {
    if (this.readingOlder) return false;
    this.readingOlder = true;
    this.olderProblem = undefined;
    let found = false;
    try {
      for (let pages = 0; pages < MAX_PAGES && this.ended === "no" && !found; pages++) {
        const page = await this.page({ before: this.events.at(-1)?.seq, limit: this.sizes.page });
        if (page.length < this.sizes.page) this.ended = "beginning";
        this.add(page);
        found = page.some(wanted);
      }
    } catch (error) {
      this.olderProblem = asProblem(error);
    }
    this.readingOlder = false;
    return found;
  }

  private page(query: { after?: number; before?: number; limit: number }): Promise<EventView[]> {
    const { brief, project } = this.of;
    return brief === undefined
      ? ask(api.GET("/api/trace", { params: { query: { ...query, project } } }))
      : ask(api.GET("/api/briefs/{number}/trace", { params: { path: { number: brief }, query } }));
  }

  private add(page: EventView[]): void {
    if (page.length === 0) return;
    const newest = this.events[0]?.seq ?? 0;
    const oldest = this.events.at(-1)?.seq ?? Infinity;
    const down = page.toSorted((a, b) => b.seq - a.seq);
    const newer = down.filter((event) => event.seq > newest);
    // With nothing known yet, all of them are newer.
    const older = newest === 0 ? [] : down.filter((event) => event.seq < oldest);
    const all = [...newer, ...this.events, ...older];
    if (all.length >= this.sizes.max) this.ended = "full";
    this.events = all.slice(0, this.sizes.max);
  }
}
