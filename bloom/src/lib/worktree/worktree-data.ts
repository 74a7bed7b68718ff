//! The resources of the pages about worktrees.
import { api, ask, type WorktreeView } from "../api";
import { any, kinds, resource, topics } from "../live.svelte";

const MOVES = any(
  kinds(
    "worktree_",
    "agent_",
    "dispatch_",
    "landed",
    "rolled_back",
    "link_added",
    "lease_",
    "main_",
    "question_",
    "decision_",
  ),
  topics("worktrees", "agents"),
);

export function worktreesOf(project: () => string | undefined) {
  return resource(() => ask(api.GET("/api/worktrees", { params: { query: { project: project() } } })), MOVES);
}

export function worktreeOf(project: () => string | undefined, name: () => string) {
  const read = () =>
    ask(api.GET("/api/worktrees/{name}", { params: { path: { name: name() }, query: { project: project() } } }));
  return resource(read, MOVES);
}

export function agentsOf(project: () => string | undefined) {
  return resource(
    () => ask(api.GET("/api/agents", { params: { query: { project: project() } } })),
    any(kinds("agent_", "dispatch_", "question_", "decision_", "permission_"), topics("agents")),
  );
}

export function archivesOf(project: () => string | undefined) {
  return resource(
    () => ask(api.GET("/api/archives", { params: { query: { project: project() } } })),
    kinds("worktree_", "archive_"),
  );
}

const STATES: Record<string, "success" | "progress" | "danger"> = {
  ready: "success",
  missing: "danger",
  unknown: "danger",
};

export function worktreeTone(state: string): "success" | "progress" | "danger" {
  return STATES[state] ?? "progress";
}

/** What is set up right now, or went wrong with it. */
export function setupWords(worktree: WorktreeView): string | undefined {
  const setup = worktree.setup;
  if (!setup || setup.state === "done") return undefined;
  if (setup.state === "running") return `is being set up: ${setup.command ?? ""}`;
  return `its setup failed: ${setup.command ?? ""}${setup.code ? ` ended with ${setup.code}` : ""}`;
}
