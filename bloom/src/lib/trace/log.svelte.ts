//! Events as they are read: the newest at once, older ones page by page, new ones as they happen.
import { api, ask, asProblem, type EventView, type Problem } from "../api";
import { live } from "../live.svelte";

const FIRST = 200;
const PAGE = 500;
/** Older ones are in the export. */
export const MOST = 20_000;

export class Trace {
  /** Newest first. */
  events = $state.raw<EventView[]>([]);
  loaded = $state(false);
  /** There is nothing older, or nothing older is kept. */
  ended = $state<"no" | "beginning" | "full">("no");
  problem = $state.raw<Problem>();
  readingOlder = $state(false);
  private stale = false;
  private reading = false;
  private stopped = false;

  constructor(readonly brief: number | undefined) {}

  start(): () => void {
    this.stopped = false;
    void this.catchUp();
    const stop = live.subscribe((news) => {
      const concerned = this.brief === undefined || news.events.some((event) => event.brief === this.brief);
      if (news.all || (news.events.length > 0 && concerned)) void this.catchUp();
    });
    return () => {
      this.stopped = true;
      stop();
    };
  }

  /** Reads the newest, or whatever came after those that are known. */
  async catchUp(): Promise<void> {
    this.stale = true;
    if (this.reading) return;
    this.reading = true;
    while (this.stale && !this.stopped) {
      this.stale = false;
      try {
        const newest = this.events[0]?.seq;
        const page = await this.page(newest === undefined ? { limit: FIRST } : { after: newest, limit: PAGE });
        if (newest === undefined && page.length < FIRST) this.ended = "beginning";
        if (newest !== undefined && page.length === PAGE) this.stale = true;
        this.add(page);
        this.loaded = true;
        this.problem = undefined;
      } catch (error) {
        this.problem = asProblem(error);
      }
    }
    this.reading = false;
  }

  async older(): Promise<void> {
    const before = this.events.at(-1)?.seq;
    if (this.readingOlder || this.ended !== "no" || before === undefined) return;
    this.readingOlder = true;
    try {
      const page = await this.page({ before, limit: PAGE });
      this.add(page);
      if (page.length < PAGE) this.ended = "beginning";
      this.problem = undefined;
    } catch (error) {
      this.problem = asProblem(error);
    }
    this.readingOlder = false;
  }

  private page(query: { after?: number; before?: number; limit: number }): Promise<EventView[]> {
    return this.brief === undefined
      ? ask(api.GET("/api/trace", { params: { query } }))
      : ask(api.GET("/api/briefs/{number}/trace", { params: { path: { number: this.brief }, query } }));
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
    if (all.length >= MOST) this.ended = "full";
    this.events = all.slice(0, MOST);
  }
}
