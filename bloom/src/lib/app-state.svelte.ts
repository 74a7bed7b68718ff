//! State shared by all pages: projects, the chosen project, the inbox and the status.
import { ask, api } from "./api";
import { any, Resource, topics } from "./live.svelte";

const KEY = "flower.project";

/** The project that was chosen last, or the one that the link of `flower up` names. */
function chosenProject(): string | undefined {
  const named = location.hash.startsWith("#open=") ? new URLSearchParams(location.search).get("project") : null;
  if (named) localStorage.setItem(KEY, named);
  return named ?? localStorage.getItem(KEY) ?? undefined;
}

class AppState {
  projects = new Resource(() => ask(api.GET("/api/projects")), topics("projects"));
  inbox = new Resource(() => ask(api.GET("/api/inbox")), topics("inbox"));
  status = new Resource(
    () => ask(api.GET("/api/status", { params: { query: { project: this.project } } })),
    // Nearly everything moves one of its figures.
    any((update) => update.events.length > 0, topics("agents", "landings")),
  );

  private wanted = $state(chosenProject());

  /** The current project: the chosen one, or the first. */
  get project(): string | undefined {
    const known = this.projects.data;
    if (!known) return this.wanted;
    return known.find((project) => project.name === this.wanted)?.name ?? known[0]?.name;
  }

  chooseProject(name: string): void {
    this.wanted = name;
    localStorage.setItem(KEY, name);
  }

  start(): () => void {
    const stops = [this.projects.start(), this.inbox.start(), this.status.start()];
    return () => stops.forEach((stop) => stop());
  }
}

export const appState = new AppState();
