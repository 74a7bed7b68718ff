//! A daemon for tests of components: answers requests from a table and records them.
import { vi } from "vitest";
import type { ProblemKind } from "../api";

export interface Call {
  /** As in `POST /api/permissions/7`. */
  request: string;
  body: unknown;
}
type Answer = (body: unknown) => unknown;

/** An error as the daemon answers it. */
export class Refused {
  constructor(
    readonly status: number,
    readonly kind: ProblemKind,
    readonly message: string,
    readonly hints: string[] = [],
  ) {}
}

/** Replaces `fetch`. A request that is not in the table is refused, and is recorded as well. */
export function fakeDaemon(answers: Record<string, Answer>): Call[] {
  const calls: Call[] = [];
  vi.stubGlobal("fetch", async (input: Request): Promise<Response> => {
    const request = `${input.method} ${new URL(input.url).pathname}`;
    const text = await input.text();
    const body: unknown = text ? JSON.parse(text) : undefined;
    calls.push({ request, body });
    const answer = await (answers[request] ?? (() => new Refused(404, "not_found", `no answer for ${request}`)))(body);
    const [status, json] =
      answer instanceof Refused
        ? [answer.status, { error: { kind: answer.kind, message: answer.message, hints: answer.hints } }]
        : [200, answer];
    return new Response(JSON.stringify(json), { status, headers: { "content-type": "application/json" } });
  });
  return calls;
}
