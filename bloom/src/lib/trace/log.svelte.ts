//! Events as they are read: the newest at once, older ones page by page, new ones as they happen. What was read once stays
//! true, because the log only ever grows at its end.
import { untrack } from "svelte";
import { api, ask, asProblem, type EventView, type Problem } from "../api";
import { Resource } from "../live.svelte";

/** So many pages are read at once to find something that is wanted. */
const MOST_PAGES = 10;

/** Whose events: all of them unless something is said. */
export interface Of {
  brief?: number | undefined;
  project?: string | undefined;
}

interface Sizes {
  first: number;
  page: number;
  /** More are not held. */
  most: number;
}

export class Trace {
  /** Newest first. */
  events = $state.raw<EventView[]>([]);
  /** There is nothing older, or nothing older is kept. */
  ended = $state<"no" | "beginning" | "full">("no");
  readingOlder = $state(false);
  private olderProblem = $state.raw<Problem>();
  /** Reads the newest, then whatever came after those that are known. */
  private readonly newest = new Resource(
    () => this.catchUp(),
    // Which of them are a project's, the daemon knows.
    (news) => news.events.some((event) => this.of.brief === undefined || event.brief === this.of.brief),
  );

  constructor(
    readonly of: Of,
    private readonly sizes: Sizes,
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

  private async catchUp(): Promise<true> {
    const { first, page: size } = this.sizes;
    for (;;) {
      const after = this.events[0]?.seq;
      const page = await this.page(after === undefined ? { limit: first } : { after, limit: size });
      if (after === undefined && page.length < first) this.ended = "beginning";
      this.add(page);
      if (after === undefined || page.length < size) return true;
    }
  }

  /** One page further back, or as many as it takes to find one that is wanted. */
  async older(wanted: (event: EventView) => boolean = () => true): Promise<void> {
    if (this.readingOlder) return;
    this.readingOlder = true;
    this.olderProblem = undefined;
    try {
      for (let pages = 0; pages < MOST_PAGES && this.ended === "no"; pages++) {
        const page = await this.page({ before: this.events.at(-1)?.seq, limit: this.sizes.page });
        if (page.length < this.sizes.page) this.ended = "beginning";
        this.add(page);
        if (page.some(wanted)) break;
      }
    } catch (error) {
      this.olderProblem = asProblem(error);
    }
    this.readingOlder = false;
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
    if (all.length >= this.sizes.most) this.ended = "full";
    this.events = all.slice(0, this.sizes.most);
  }
}
