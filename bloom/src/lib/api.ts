//! The client of the daemon: typed by its OpenAPI description, with the session token, and errors as problems.
import createClient from "openapi-fetch";
import type { paths, ProblemKind } from "./schema";
export type * from "./schema";

const KEY = "flower.session";

/** `unknown` is an answer that is not one of flower's problems. */
type Kind = ProblemKind | "unknown";

/** What went wrong, in flower's own words, with what to do next. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly kind: Kind,
    message: string,
    readonly hints: string[] = [],
  ) {
    super(message);
  }

  /** The daemon did not answer at all. */
  get unreachable(): boolean {
    return this.status === 0;
  }

  /** The same request may succeed later. */
  get retryable(): boolean {
    return this.unreachable || this.status === 429 || this.status >= 500;
  }
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, "unreachable", "flower does not answer", ["is it running? `flower up` starts it"]);
}

/** Trades the one-time code behind `#open=` for a session, and cleans the address. */
export async function beginSession(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("open");
  if (!code) return;
  const query = new URLSearchParams(location.search);
  query.delete("project");
  history.replaceState(history.state, "", location.pathname + (query.size > 0 ? `?${query}` : ""));
  const answer = await fetch("/api/session", { method: "POST", headers: { authorization: `Bearer ${code}` } });
  if (answer.ok) localStorage.setItem(KEY, ((await answer.json()) as { token: string }).token);
}

export function hasSession(): boolean {
  return localStorage.getItem(KEY) !== null;
}

/** Whether this is where the session is kept. */
export function isSession(key: string | null): boolean {
  return key === KEY;
}

/** Headers that every call carries. */
export function credentials(): Record<string, string> {
  return { authorization: `Bearer ${localStorage.getItem(KEY) ?? ""}` };
}

export const api = createClient<paths>({
  baseUrl: "/",
  // A copy of `fetch` must not be made: tests and extensions replace it.
  fetch: (request) => fetch(request),
});
api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(credentials())) request.headers.set(name, value);
    return request;
  },
});

/** The answer of a call, or a [`Problem`]. */
export async function ask<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    throw asProblem(error);
  }
  if (answer.response.ok) return answer.data as T;
  throw problemOf(answer.response.status, answer.error);
}

/** A call whose answer is not JSON. */
export async function raw(path: string, init: RequestInit = {}): Promise<Response> {
  let answer;
  try {
    answer = await fetch(path, { ...init, headers: { ...credentials(), ...init.headers } });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw asProblem(error);
  }
  if (answer.ok) return answer;
  const body: unknown = await answer.json().catch(() => undefined);
  throw problemOf(answer.status, body);
}

function problemOf(status: number, body: unknown): Problem {
  const told = (body as { error?: { kind?: ProblemKind; message?: string; hints?: string[] } } | undefined)?.error;
  return new Problem(status, told?.kind ?? "unknown", told?.message ?? `flower answered ${status}`, told?.hints ?? []);
}
