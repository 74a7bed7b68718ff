//! The resources of the pages about worktrees.
import { api, ask, type WorktreeView } from "../api";
import { resource, topics } from "../live.svelte";

const MOVES = topics("agents", "dispatches", "leases", "links", "main", "questions", "worktrees");

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
    topics("agents", "dispatches", "permissions", "questions"),
  );
}

export function archivesOf(project: () => string | undefined) {
  return resource(
    () => ask(api.GET("/api/archives", { params: { query: { project: project() } } })),
    topics("archives", "worktrees"),
  );
}

/** What is set up right now, or went wrong with it. */
export function setupWords(worktree: WorktreeView): string | undefined {
  const setup = worktree.setup;
  if (!setup || setup.state === "done") return undefined;
  if (setup.state === "running") return `is being set up: ${setup.command ?? ""}`;
  return `its setup failed: ${setup.command ?? ""}${setup.code ? ` ended with ${setup.code}` : ""}`;
}
