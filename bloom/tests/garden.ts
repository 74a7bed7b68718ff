//! A project in full growth, as the daemon would tell it: for pictures, and for more than a test can grow itself.
import type { Page } from "@playwright/test";
import type { AgentState, AgentView, HistoryEntry, LandingView, WorktreeView } from "../src/lib/schema";

const START = Date.parse("2026-11-16T08:00:00Z");
const at = (minutes: number) => new Date(START + minutes * 60_000).toISOString();
const sha = (number: number) => (number * 2_654_435_761).toString(16).padStart(40, "7").slice(0, 40);

const WORK = ["checkout", "search", "invoices", "login-throttle", "mail-queue", "dark-mode", "csv-export", "cart"];
const STATES: AgentState[] = ["working", "waiting", "working", "idle", "working", "starting", "failed"];

export interface Garden {
  log: HistoryEntry[];
  landings: LandingView[];
  queue: LandingView[];
  worktrees: WorktreeView[];
  agents: AgentView[];
}

function landing(id: number, over: Partial<LandingView>): LandingView {
  return {
    id,
    project: "shop",
    title: `Make ${WORK[id % WORK.length]} faster`,
    source: "worktree",
    briefs: [id],
    commit: sha(500 + id),
    state: "landed",
    priority: "normal",
    approved: false,
    checks: [],
    flaky: [],
    paths: Array.from({ length: 1 + ((id * 7) % 30) }, (_, index) => `src/${index}.ts`),
    by: "play-1",
    queued_at: at(id * 10),
    ...over,
  };
}

/** Many landings, and as many worktrees as asked for. */
export function grown(worktrees: number, history = 18): Garden {
  const log = Array.from({ length: history }, (_, index): HistoryEntry => {
    const id = history - index;
    const first = id === 1;
    return {
      commit: sha(id),
      at: at(id * 10),
      author: "Mike",
      title: first ? "The shop opens" : `Make ${WORK[id % WORK.length]} faster`,
      landing: first ? null : id,
      state: first ? null : id === history - 5 ? "rolled_back" : "landed",
      briefs: first ? [] : id % 6 === 0 ? [id, id + 100] : [id],
      worktree: first ? null : WORK[id % WORK.length],
    };
  });
  const live = Array.from({ length: worktrees }, (_, index): WorktreeView => {
    const name = index < WORK.length ? (WORK[index] ?? "") : `${WORK[index % WORK.length]}-${index}`;
    const back = [0, 1, 0, 3, 6, 2, 0, 9][index % 8] ?? 0;
    return {
      number: index + 1,
      name,
      project: "shop",
      branch: `flower/${name}`,
      path: `/worktrees/${name}`,
      kind: index % 5 === 4 ? "lane" : "ephemeral",
      sort: index % 5 === 4 ? "lane" : "ephemeral",
      seal: "sealed",
      secrets: "keyless",
      protection: "kernel",
      agents: index % 4 === 3 ? [] : [`play-${index}`],
      briefs: [40 + index],
      ahead: (index * 3) % 8,
      behind: back,
      dirty: index % 3 === 1,
      state: "ready",
      base: sha(history - back),
      created_at: at(200),
      notes: [],
    };
  });
  const agents = live.flatMap((worktree, index): AgentView[] =>
    worktree.agents.concat(index % 6 === 2 ? [`review-${index}`] : []).map((name, member) => ({
      id: index * 10 + member,
      name,
      profile: "play",
      role: "worker",
      standing: false,
      project: "shop",
      worktree: worktree.name,
      brief: worktree.briefs[0],
      member,
      state: STATES[(index + member) % STATES.length] ?? "idle",
      evidence: "it said so",
      context: { used: 20_000 + ((index * 23_000) % 170_000), size: 200_000 },
      cost: index % 2 ? 0.4 * index : null,
      currency: "USD",
      terminal: false,
      restarts: 0,
      refreshes: 0,
      since: at(200),
      started_at: at(200),
    })),
  );
  const of = (index: number) => live[index]?.name ?? null;
  const queue =
    worktrees < 2
      ? []
      : [
          landing(91, {
            title: "Checkout in one step",
            worktree: of(0),
            state: "checking",
            reason: "`test` runs on the merged tree",
          }),
          landing(92, {
            title: "Invoices as PDF",
            worktree: of(2),
            state: "approval",
            reason: "it changes flower.toml",
          }),
          landing(93, { title: "A faster search", worktree: of(1), state: "queued", reason: "waits for landing 91" }),
        ];
  const ended = log.flatMap((entry) =>
    entry.landing ? [landing(entry.landing, { state: entry.state ?? "landed" })] : [],
  );
  const fallen = [3, 5, 5, 11].map((back, index) =>
    landing(60 + index, {
      state: "rejected",
      reason: "`test` is red",
      onto: sha(history - back),
      title: "A cart that empties itself",
    }),
  );
  return { log, landings: [...queue, ...ended, ...fallen], queue, worktrees: live, agents };
}

/** Lets a page see a garden instead of what the daemon has. */
export async function plant(page: Page, garden: Garden): Promise<void> {
  await page.route("**/api/main/log*", (route) => route.fulfill({ json: garden.log }));
  await page.route("**/api/worktrees?*", (route) => route.fulfill({ json: garden.worktrees }));
  await page.route("**/api/agents?*", (route) => route.fulfill({ json: garden.agents }));
  await page.route("**/api/landings?*", (route) => {
    const all = new URL(route.request().url()).searchParams.has("all");
    return route.fulfill({ json: all ? garden.landings : garden.queue });
  });
}
