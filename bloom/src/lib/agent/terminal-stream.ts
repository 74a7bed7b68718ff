//! The stream of an agent's terminal: its output, and the input of an operator who has taken the keyboard.
import type { Terminal } from "@xterm/xterm";
import { asProblem, raw, type Problem } from "../api";
import { untilVisible } from "./transcript-follower.svelte";

const MIN_RETRY_DELAY = 400;
const MAX_RETRY_DELAY = 4_000;

export interface TerminalWatcher {
  /** Connected, reconnecting, or ended. */
  state: (state: "live" | "lost" | "over") => void;
  problem: (problem: Problem) => void;
}

/**
 * Writes the output of an agent's terminal until the signal, and resumes after a lost connection. A window that
 * is hidden gives its connection back: a browser has six for all windows together.
 */
export async function watchTerminal(
  name: string,
  terminal: Terminal,
  watcher: TerminalWatcher,
  gone: AbortSignal,
): Promise<void> {
  const path = `/api/agents/${encodeURIComponent(name)}/terminal`;
  let at: number | undefined;
  let wait = MIN_RETRY_DELAY;
  while (!gone.aborted) {
    await untilVisible(gone);
    const hidden = new AbortController();
    const hide = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", hide);
    try {
      const signal = AbortSignal.any([gone, hidden.signal]);
      const answer = await raw(at === undefined ? path : `${path}?after=${at}`, { signal });
      const first = Number(answer.headers.get("x-flower-offset") ?? 0);
      // Missed output is lost: begin with a clean screen.
      if (at !== undefined && first !== at) terminal.reset();
      at = first;
      watcher.state("live");
      wait = MIN_RETRY_DELAY;
      const reader = answer.body?.getReader();
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) break;
        at += value.length;
        // Waits until it is drawn, so that a flood stays with the daemon and not in here.
        await new Promise<void>((drawn) => terminal.write(value, drawn));
      }
    } catch (error) {
      if (gone.aborted) return;
      if (hidden.signal.aborted) continue;
      const problem = asProblem(error);
      if (!problem.unreachable) {
        watcher.state("over");
        if (problem.status !== 404 && problem.status !== 409) watcher.problem(problem);
        return;
      }
      watcher.state("lost");
    } finally {
      document.removeEventListener("visibilitychange", hide);
    }
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, MAX_RETRY_DELAY);
  }
}

/** Sends keys in the order in which they were pressed. */
export class TerminalKeyboard {
  private waiting: Uint8Array[] = [];
  private sending = false;

  constructor(
    private readonly name: string,
    private readonly failed: (problem: Problem) => void,
  ) {}

  async press(text: string): Promise<void> {
    this.waiting.push(new TextEncoder().encode(text));
    if (this.sending) return;
    this.sending = true;
    try {
      while (this.waiting.length > 0) {
        const body = new Blob(this.waiting as BlobPart[]);
        this.waiting = [];
        const headers = { "content-type": "application/octet-stream" };
        await raw(`/api/agents/${encodeURIComponent(this.name)}/terminal/keys`, { method: "POST", headers, body });
      }
    } catch (error) {
      this.waiting = [];
      this.failed(asProblem(error));
    } finally {
      this.sending = false;
    }
  }
}
