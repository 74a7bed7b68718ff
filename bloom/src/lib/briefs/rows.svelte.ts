//! All briefs as rows. They are read page by page once; afterwards only those that something happened to.
import { api, ask, asProblem, type BriefRow as Told, type Problem } from "../api";
import { live, type News } from "../live.svelte";
import { rowOf, type BriefRow } from "./row";

/** With more than this to read again, all is read again. */
const FEW = 200;

class Rows {
  /** Newest first. */
  all = $state.raw<BriefRow[]>([]);
  /** Every page has been read once. */
  whole = $state(false);
  problem = $state.raw<Problem>();

  private known = new Map<number, BriefRow>();
  private touched = new Set<number>();
  private everything = false;
  private reading = false;
  private users = 0;
  private stopFollowing: (() => void) | undefined;

  get(number: number): BriefRow | undefined {
    return this.all.length > 0 ? this.known.get(number) : undefined;
  }

  /** Reads and follows for as long as somebody needs them. What was read stays for the next one. */
  start(): () => void {
    this.users += 1;
    if (this.users === 1) {
      this.everything = true;
      void this.catchUp();
      this.stopFollowing = live.subscribe((news) => this.hear(news));
    }
    return () => {
      this.users -= 1;
      if (this.users === 0) this.stopFollowing?.();
    };
  }

  refresh(): void {
    this.everything = true;
    void this.catchUp();
  }

  private hear(news: News): void {
    if (news.all) this.everything = true;
    for (const event of news.events) if (event.brief) this.touched.add(event.brief);
    if (this.everything || this.touched.size > 0) void this.catchUp();
  }

  private async catchUp(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    while (this.everything || this.touched.size > 0) {
      const numbers = [...this.touched];
      const all = this.everything || numbers.length > FEW;
      this.touched.clear();
      this.everything = false;
      try {
        await (all ? this.readAll() : this.readSome(numbers));
        this.problem = undefined;
      } catch (error) {
        this.problem = asProblem(error);
      }
    }
    this.reading = false;
  }

  private async readAll(): Promise<void> {
    let after = 0;
    for (;;) {
      const page = await this.page(after);
      for (const told of page) this.known.set(told.number, rowOf(told));
      const last = page.at(-1)?.number;
      if (last === undefined) break;
      after = last;
      if (!this.whole) this.show();
    }
    this.whole = true;
    this.show();
  }

  private page(after: number): Promise<Told[]> {
    return ask(api.GET("/api/brief-rows", { params: { query: { after } } }));
  }

  private async readSome(numbers: number[]): Promise<void> {
    const told = await ask(api.GET("/api/brief-rows", { params: { query: { numbers: numbers.join(",") } } }));
    for (const one of told) this.known.set(one.number, rowOf(one));
    this.show();
  }

  private show(): void {
    this.all = [...this.known.values()].sort((a, b) => b.number - a.number);
  }
}

export const rows = new Rows();
