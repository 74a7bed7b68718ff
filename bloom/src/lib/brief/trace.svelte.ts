//! The trace of a brief as far as it is looked at: the newest part, kept up, and older parts on demand. It only ever
//! grows at its end, so what was read once stays true.
import { ask, api, type EventView } from "../api";
import { isTalk } from "../trace/entry";

const PAGE = 50;
/** More are not held; who goes further back leaves the newest behind. */
const MOST = 1_000;
/** So many pages are read at once to find something that is talk. */
const MOST_PAGES = 10;

export class BriefTrace {
  /** Newest first. */
  events = $state.raw<EventView[]>([]);
  /** The first of all is here. */
  whole = $state(false);
  /** The newest were left behind. */
  behind = $state(false);

  constructor(private readonly number: number) {}

  private page(query: { after?: number; before?: number }): Promise<EventView[]> {
    const params = { path: { number: this.number }, query: { ...query, limit: PAGE } };
    return ask(api.GET("/api/briefs/{number}/trace", { params }));
  }

  /** What a resource reads: everything since the last time. */
  async read(): Promise<EventView[]> {
    if (this.behind) return this.events;
    const newest = this.events[0]?.seq;
    if (newest === undefined) {
      const page = await this.page({});
      this.whole = page.length < PAGE;
      this.events = newestFirst(page);
      return this.events;
    }
    for (let last = newest; ;) {
      const page = await this.page({ after: last });
      const fresh = newestFirst(page).filter((event) => event.seq > last);
      if (fresh.length === 0) break;
      this.events = [...fresh, ...this.events];
      last = fresh[0]!.seq;
      if (page.length < PAGE) break;
    }
    if (this.events.length > MOST) {
      this.events = this.events.slice(0, MOST);
      this.whole = false;
    }
    return this.events;
  }

  /** One page further back; with `talk`, until some talk is found. */
  async older(talk: boolean): Promise<void> {
    for (let pages = 0; pages < MOST_PAGES && !this.whole; pages++) {
      const page = newestFirst(await this.page({ before: this.events.at(-1)?.seq }));
      this.whole = page.length < PAGE;
      this.events = [...this.events, ...page];
      if (this.events.length > MOST) {
        this.events = this.events.slice(-MOST);
        this.behind = true;
      }
      if (!talk || page.some(isTalk)) break;
    }
  }

  /** Back to the newest. */
  again(): void {
    this.events = [];
    this.behind = false;
    this.whole = false;
  }
}

function newestFirst(page: EventView[]): EventView[] {
  return [...page].sort((a, b) => b.seq - a.seq);
}
