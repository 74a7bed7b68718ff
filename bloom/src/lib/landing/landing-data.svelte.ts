//! The resources of the pages about landings.
import { api, ask } from "../api";
import { resource, topics } from "../live.svelte";

const MOVES = topics("landings", "main");
/** The newest of what has ended. */
const RECENT = 30;

type Project = () => string | undefined;

export function queueOf(project: Project) {
  return resource(() => ask(api.GET("/api/landings", { params: { query: { project: project() } } })), MOVES);
}

export function endedOf(project: Project) {
  return resource(async () => {
    const query = { project: project(), all: true, limit: RECENT };
    const all = await ask(api.GET("/api/landings", { params: { query } }));
    return all.filter((landing) => landing.ended_at);
  }, MOVES);
}

export function landingOf(number: () => number) {
  return resource(() => ask(api.GET("/api/landings/{number}", { params: { path: { number: number() } } })), MOVES);
}

export function mainOf(project: Project) {
  return resource(
    () => ask(api.GET("/api/main", { params: { query: { project: project() } } })),
    topics("landings", "main", "worktrees"),
  );
}
