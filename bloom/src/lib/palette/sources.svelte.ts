//! Where the palette's entries come from: deeds, places, what is at work, and what the operator can order.
import { goto } from "$app/navigation";
import { toasts } from "../act.svelte";
import { api, ask } from "../api";
import { here } from "../here.svelte";
import { keys } from "../keys.svelte";
import { any, kinds, Resource, stirs } from "../live.svelte";
import { thawMain } from "../thaw";
import { logExport } from "../trace/export.svelte";
import { latest } from "./help";
import { spaced } from "../words";
import { worktreeHref } from "../worktree/address";
import type { Entry } from "./entries";

const to = (path: string) => () => void goto(path);
const inProject = () => ({ params: { query: { project: here.project } } });
const named = (name: string) => encodeURIComponent(name);
/** What was read of another project is left out until this one's is there. */
const own = <T extends { project: string }>(read: T[] | undefined): T[] =>
  (read ?? []).filter((one) => one.project === here.project);

export const worktrees = new Resource(
  () => ask(api.GET("/api/worktrees", inProject())),
  any(kinds("worktree_"), stirs("worktrees")),
);
export const agents = new Resource(
  () => ask(api.GET("/api/agents", inProject())),
  any(kinds("agent_"), stirs("agents")),
);
export const landings = new Resource(
  () => ask(api.GET("/api/landings", inProject())),
  any(kinds("landing_", "landed", "rolled_back"), stirs("landings")),
);

/** Deeds that only stand for the palette itself. */
const ITSELF = new Set(["search"]);
/** Keys that take one step, which nobody looks for by name. */
const STEPS = new Set(["j", "k", "n", "p"]);
const EVERYWHERE = new Set(["Go to", "Help"]);

function deeds(): Entry[] {
  return latest(keys.deeds)
    .filter((deed) => !ITSELF.has(deed.id))
    .map((deed) => {
      const isAction = deed.id === "new-brief" || deed.group === "Help";
      const group = deed.group === "Go to" ? "Go to" : isAction ? "Actions" : "This page";
      const about = EVERYWHERE.has(deed.group) || isAction ? undefined : deed.group;
      const icon = deed.group === "Go to" ? `go-${deed.id}` : deed.id;
      const minor = deed.minor || STEPS.has(deed.keys ?? "");
      return { id: deed.id, title: deed.title, group, icon, about, minor, keys: deed.keys, run: deed.run };
    });
}

function things(): Entry[] {
  return [
    ...own(worktrees.data).map((tree) => ({
      id: `worktree:${tree.name}`,
      title: tree.name,
      group: "Worktrees",
      icon: "worktree",
      about: [tree.branch, ...tree.agents].join(" · "),
      also: tree.briefs.map((brief) => `#${brief}`).join(" "),
      run: to(worktreeHref(tree.name, tree.project)),
    })),
    ...own(agents.data).map((agent) => ({
      id: `agent:${agent.name}`,
      title: agent.name,
      group: "Agents",
      icon: "agent",
      about: `${agent.state} in ${agent.worktree}`,
      also: agent.profile,
      run: to(`/agents/${named(agent.name)}`),
    })),
    ...own(landings.data).map((landing) => ({
      id: `landing:${landing.id}`,
      title: landing.title,
      group: "Landings",
      icon: "landing",
      about: `landing ${landing.id} · ${spaced(landing.state)}`,
      also: `landing ${landing.id} ${landing.worktree ?? ""}`,
      run: to(`/landing/${landing.id}`),
    })),
    ...(here.projects.data ?? [])
      .filter((project) => project.name !== here.project)
      .map((project) => ({
        id: `project:${project.name}`,
        title: `Switch to ${project.name}`,
        group: "Projects",
        icon: "project",
        about: project.root,
        run: () => here.choose(project.name),
      })),
  ];
}

function orders(): Entry[] {
  const project = here.project ?? "";
  const frozen = here.status.data?.main?.state === "frozen";
  const freeze: Entry = {
    id: "freeze",
    title: "Freeze MAIN",
    group: "Actions",
    icon: "freeze",
    about: "nothing lands until it is thawed",
    also: "stop hold queue",
    prompt: {
      title: "Freeze MAIN",
      about: `Nothing lands on MAIN of ${project} until you thaw it. Agents go on working.`,
      label: "Why, for everybody who waits",
      confirm: "Freeze",
      danger: false,
      done: "MAIN is frozen",
      run: (why) => ask(api.POST("/api/main/freeze", { ...inProject(), body: { why: why || null } })),
    },
  };
  const thaw: Entry = {
    id: "thaw",
    title: "Thaw MAIN",
    group: "Actions",
    icon: "thaw",
    about: "landings go on",
    also: "unfreeze resume queue",
    run: () => void thawMain(project),
  };
  const halt: Entry = {
    id: "halt",
    title: "Halt everything",
    group: "Actions",
    icon: "halt",
    about: "all agents and landings, in all projects",
    also: "stop emergency freeze",
    prompt: {
      title: "Halt everything?",
      about:
        "In all projects every agent is stopped, running checks end, and nothing lands until each MAIN is thawed. What agents have committed stays.",
      label: "Why (optional)",
      confirm: "Halt everything",
      danger: true,
      done: "Everything is halted",
      run: (why) => ask(api.POST("/api/halt", { body: { why: why || null } })),
    },
  };
  const save: Entry = {
    id: "export",
    title: "Export the log",
    group: "Actions",
    icon: "export",
    also: "download ndjson events",
    run: () => void logExport.save().catch((error: unknown) => toasts.fail(error)),
  };
  const reload: Entry = {
    id: "reload",
    title: "Read everything again",
    group: "Actions",
    icon: "reload",
    also: "refresh reload",
    run: () => location.reload(),
  };
  const all = [...(here.project ? [frozen ? thaw : freeze] : []), halt, save, reload];
  // Where the page itself offers it, it stands there, with its key.
  return all.filter((order) => !keys.deeds.some((deed) => deed.id === `main-${order.id}`));
}

/** All but the briefs, which are many. */
export function entries(): Entry[] {
  const isHelp = (entry: Entry) => entry.id === "help";
  const doable = deeds();
  return [...doable.filter((entry) => !isHelp(entry)), ...orders(), ...doable.filter(isHelp), ...things()];
}
