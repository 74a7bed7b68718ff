//! One event stream for all windows of this browser, and resources that are read
//! again when an event concerns them. Nothing is computed from events alone, so two windows cannot disagree.
import { ask, api, asProblem, beginSession, credentials, hasSession, isSession, Problem, type EventView } from "./api";
import { FrameParser } from "./event-stream";
import type { Concern, Topic, Update } from "./updates";
export { any, topics, type Update } from "./updates";

type Told =
  | { hello: true }
  | { alive: true }
  | { connected: boolean; seq: number; version: string }
  | { before: number; seq: number; events: EventView[]; topics: Topic[] };

/** The daemon sends a keep-alive every 15 seconds. */
const SILENCE_TIMEOUT = 40_000;
const MIN_RETRY_DELAY = 250;
const MAX_RETRY_DELAY = 4_000;
/** Delay before a failed read is retried. */
const FIRST_RETRY = 1_000;
const LAST_RETRY = 30_000;

class Live {
  /** `connecting` until the first answer; `lost` while nothing comes in. */
  state = $state<"connecting" | "live" | "lost" | "signed-out">("connecting");
  /** Another version of flower serves this page than the one that drew it. */
  outdated = $state(false);
  /** A clock for everything that says how long ago. */
  now = $state(Date.now());

  private seq = 0;
  private version = "";
  private listeners = new Set<(update: Update) => void>();
  private channel: BroadcastChannel | undefined;
  private leads = false;
  /** When the window that listens for all was last heard. */
  private heard = Date.now();
  private wake: (() => void) | undefined;

  async start(): Promise<void> {
    setInterval(() => this.tick(), 1_000);
    await beginSession().catch(() => undefined);
    if (!hasSession()) {
      this.state = "signed-out";
      return;
    }
    this.channel = new BroadcastChannel("flower");
    this.channel.onmessage = (message: MessageEvent<Told>) => this.hear(message.data);
    this.channel.postMessage({ hello: true } satisfies Told);
    addEventListener("online", () => this.wake?.());
    // Another window has signed in.
    addEventListener("storage", (event) => {
      if (this.state === "signed-out" && event.newValue && isSession(event.key)) location.reload();
    });
    document.addEventListener("visibilitychange", () => {
      this.now = Date.now();
      if (document.visibilityState === "visible") {
        this.wake?.();
        if (!this.leads) this.channel?.postMessage({ hello: true } satisfies Told);
      }
    });
    // Browsers give a host six connections for all windows together, so that one window listens for all of them.
    void navigator.locks.request("flower.stream", () => this.lead());
  }

  private tick(): void {
    this.now = Date.now();
    // A leading window that hangs announces nothing.
    if (!this.leads && this.state === "live" && this.now - this.heard > SILENCE_TIMEOUT) this.state = "lost";
  }

  subscribe(listener: (update: Update) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell(update: Update): void {
    for (const listener of this.listeners) listener(update);
  }

  /** Another window has said something. */
  private hear(told: Told): void {
    this.heard = Date.now();
    // A window that has not noticed the end of the session yet must not bring this one back.
    if (this.state === "signed-out") return;
    if ("hello" in told) {
      if (this.leads) this.announce();
    } else if ("alive" in told) {
      if (!this.leads && this.state === "lost") this.channel?.postMessage({ hello: true } satisfies Told);
    } else if ("connected" in told) {
      if (told.version) this.served(told.version);
      const fresh = told.connected && (this.state !== "live" || told.seq !== this.seq);
      this.state = told.connected ? "live" : "lost";
      this.seq = told.seq;
      if (fresh) this.tell({ events: [], topics: [], all: true });
    } else {
      const all = told.before !== this.seq || told.topics.includes("all");
      this.seq = told.seq;
      this.state = "live";
      this.tell({ events: told.events, topics: told.topics, all });
    }
  }

  private announce(): void {
    const connected = this.state === "live";
    this.channel?.postMessage({ connected, seq: this.seq, version: this.version } satisfies Told);
  }

  private served(version: string): void {
    if (this.version && version !== this.version) this.outdated = true;
    this.version = version;
  }

  /** Holds the stream for as long as this window lives. */
  private async lead(): Promise<void> {
    this.leads = true;
    let wait = MIN_RETRY_DELAY;
    for (;;) {
      try {
        await this.follow(() => (wait = MIN_RETRY_DELAY));
      } catch (error) {
        if (error instanceof Problem && error.status === 401) {
          this.state = "signed-out";
          this.leads = false;
          return;
        }
      }
      this.state = "lost";
      this.announce();
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, wait);
      });
      wait = Math.min(wait * 2, MAX_RETRY_DELAY);
    }
  }

  private async follow(connected: () => void): Promise<void> {
    const status = await ask(api.GET("/api/status"));
    // Another log than the one that was followed.
    if (status.last_event < this.seq) location.reload();
    const after = this.seq || status.last_event;
    const gone = new AbortController();
    const answer = await fetch(`/api/events?after=${after}`, { headers: credentials(), signal: gone.signal });
    if (!answer.ok || !answer.body) throw new Problem(answer.status, "unknown", "no stream");
    this.served(answer.headers.get("x-flower-version") ?? "");
    this.seq = after;
    this.state = "live";
    connected();
    this.announce();
    // State without events may have changed between the two streams.
    this.tell({ events: [], topics: [], all: true });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const frames = new FrameParser();
    for (;;) {
      const silent = setTimeout(() => gone.abort(), SILENCE_TIMEOUT);
      const { value, done } = await reader.read().finally(() => clearTimeout(silent));
      if (done) return;
      const before = this.seq;
      const events: EventView[] = [];
      const topics: Topic[] = [];
      for (const frame of frames.take(value)) {
        if ("event" in frame) events.push(frame.event);
        else topics.push(...frame.topics);
      }
      if (events.length + topics.length === 0) {
        this.channel?.postMessage({ alive: true } satisfies Told);
        continue;
      }
      this.seq = events.at(-1)?.seq ?? before;
      this.channel?.postMessage({ before, seq: this.seq, events, topics } satisfies Told);
      this.tell({ events, topics, all: topics.includes("all") });
    }
  }
}

export const live = new Live();

/**
 * State of the daemon, read again whenever it may have changed. The old data stays until the new is there; if that cannot be
 * read, `problem` is set as well, and the read is retried.
 */
export class Resource<T> {
  data = $state.raw<T>();
  problem = $state.raw<Problem>();
  private failures = 0;
  /** The start that `data` is of. */
  private dataOf = 0;
  private again: ReturnType<typeof setTimeout> | undefined;
  private stale = false;
  private reading = false;
  private stopped = false;
  private starts = 0;

  constructor(
    private readonly read: () => Promise<T>,
    private readonly concerns: Concern,
  ) {}

  /**
   * Reads now and follows, until the returned function is called. Started anew it asks for something else, as another
   * project, so that what is still under way counts no more.
   */
  start(): () => void {
    this.stopped = false;
    this.starts += 1;
    this.reading = false;
    void this.refresh();
    const stop = live.subscribe((update) => {
      if (update.all || this.concerns(update)) void this.refresh();
    });
    return () => {
      this.stopped = true;
      clearTimeout(this.again);
      stop();
    };
  }

  /** At most one read is under way and at most one waits, however much happens. */
  async refresh(): Promise<void> {
    this.stale = true;
    if (this.reading) return;
    this.reading = true;
    clearTimeout(this.again);
    const start = this.starts;
    while (this.stale && !this.stopped) {
      this.stale = false;
      try {
        const data = await this.read();
        if (start !== this.starts) return;
        this.data = data;
        this.dataOf = start;
        this.problem = undefined;
        this.failures = 0;
      } catch (error) {
        if (start !== this.starts) return;
        this.problem = asProblem(error);
        this.failures += 1;
        // The data of an earlier start answers another question.
        if (this.dataOf !== start) this.data = undefined;
      }
    }
    this.reading = false;
    if (this.problem?.retryable && !this.stopped) {
      const wait = Math.min(FIRST_RETRY * 2 ** (this.failures - 1), LAST_RETRY);
      this.again = setTimeout(() => void this.refresh(), wait);
    }
  }
}

/** A resource that lives as long as the component that asks for it. */
export function resource<T>(read: () => Promise<T>, concerns: Concern): Resource<T> {
  const made = new Resource(read, concerns);
  $effect(() => made.start());
  return made;
}
