//! All briefs as rows. They are read page by page once; afterwards only those that something happened to.
import { api, ask, type BriefRow as Told, type Problem } from "../api";
import { live, Resource, type Update } from "../live.svelte";
import { rowOf, type BriefRow } from "./brief-row";

/** With more than this to read again, all is read again. */
const MAX_NUMBERS = 200;

class BriefRows {
  /** Newest first. */
  all = $state.raw<BriefRow[]>([]);
  /** Every page has been read once. */
  whole = $state(false);

  private known = new Map<number, BriefRow>();
  private touched = new Set<number>();
  private everything = true;
  private users = 0;
  private stopFollowing: (() => void) | undefined;
  private readonly reads = new Resource(
    () => this.catchUp(),
    () => false,
  );

  get problem(): Problem | undefined {
    return this.reads.problem;
  }

  get(number: number): BriefRow | undefined {
    return this.all.length > 0 ? this.known.get(number) : undefined;
  }

  /** Reads and follows while it has users. The rows stay for the next user. */
  start(): () => void {
    this.users += 1;
    if (this.users === 1) {
      this.refresh();
      this.stopFollowing = live.subscribe((update) => this.hear(update));
    }
    return () => {
      this.users -= 1;
      if (this.users === 0) this.stopFollowing?.();
    };
  }

  refresh(): void {
    this.everything = true;
    void this.reads.refresh();
  }

  private hear(update: Update): void {
    if (update.all) this.everything = true;
    for (const event of update.events) if (event.brief) this.touched.add(event.brief);
    if (this.everything || this.touched.size > 0) void this.reads.refresh();
  }

  private async catchUp(): Promise<void> {
    const numbers = [...this.touched];
    const all = this.everything || numbers.length > MAX_NUMBERS;
    this.touched.clear();
    this.everything = false;
    try {
      await (all ? this.readAll() : this.readSome(numbers));
    } catch (error) {
      // The next read also brings missed changes.
      this.everything = true;
      throw error;
    }
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

export const briefRows = new BriefRows();
