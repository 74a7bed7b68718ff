//! The sources of the palette: commands, worktrees, agents, landings, projects and global actions.
import { goto } from "$app/navigation";
import { toasts } from "../toasts.svelte";
import { api, ask } from "../api";
import { appState } from "../app-state.svelte";
import { commands } from "../commands.svelte";
import { Resource, topics } from "../live.svelte";
import { thawMain } from "../landing/thaw-main";
import { logExport } from "../trace/log-export.svelte";
import { uniqueCommands } from "./shortcuts";
import { humanize } from "../format";
import { worktreeHref } from "../worktree/worktree-href";
import type { PaletteEntry } from "./palette-entries";

const to = (path: string) => () => void goto(path);
const inProject = () => ({ params: { query: { project: appState.project } } });
const named = (name: string) => encodeURIComponent(name);
/** Leaves out data of another project until that of this one is read. */
const own = <T extends { project: string }>(read: T[] | undefined): T[] =>
  (read ?? []).filter((one) => one.project === appState.project);

export const worktrees = new Resource(() => ask(api.GET("/api/worktrees", inProject())), topics("worktrees"));
export const agents = new Resource(() => ask(api.GET("/api/agents", inProject())), topics("agents"));
export const landings = new Resource(() => ask(api.GET("/api/landings", inProject())), topics("landings"));

/** Commands that only stand for the palette itself. */
const ITSELF = new Set(["search"]);
/** Keys of single steps, which are not worth a place in the palette. */
const STEPS = new Set(["j", "k", "n", "p"]);
const EVERYWHERE = new Set(["Go to", "Help"]);

function commandEntries(): PaletteEntry[] {
  return uniqueCommands(commands.all)
    .filter((command) => !ITSELF.has(command.id))
    .map((command) => {
      const isAction = command.id === "new-brief" || command.group === "Help";
      const group = command.group === "Go to" ? "Go to" : isAction ? "Actions" : "This page";
      const about = EVERYWHERE.has(command.group) || isAction ? undefined : command.group;
      const icon = command.group === "Go to" ? `go-${command.id}` : command.id;
      const minor = command.minor || STEPS.has(command.keys ?? "");
      return { id: command.id, title: command.title, group, icon, about, minor, keys: command.keys, run: command.run };
    });
}

function things(): PaletteEntry[] {
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
      about: `landing ${landing.id} · ${humanize(landing.state)}`,
      also: `landing ${landing.id} ${landing.worktree ?? ""}`,
      run: to(`/landing/${landing.id}`),
    })),
    ...(appState.projects.data ?? [])
      .filter((project) => project.name !== appState.project)
      .map((project) => ({
        id: `project:${project.name}`,
        title: `Switch to ${project.name}`,
        group: "Projects",
        icon: "project",
        about: project.root,
        run: () => appState.chooseProject(project.name),
      })),
  ];
}

function orders(): PaletteEntry[] {
  const project = appState.project ?? "";
  const frozen = appState.status.data?.main?.state === "frozen";
  const freeze: PaletteEntry = {
    id: "freeze",
    title: "Freeze MAIN",
    group: "Actions",
    icon: "freeze",
    about: "nothing lands until it is thawed",
    also: "stop hold queue",
    prompt: {
      title: "Freeze MAIN",
      about: `Nothing lands on MAIN of ${project} until you thaw it. Agents go on working.`,
      label: "Reason, shown to waiting agents",
      confirm: "Freeze",
      danger: false,
      done: "MAIN is frozen",
      run: (why) => ask(api.POST("/api/main/freeze", { ...inProject(), body: { why: why || null } })),
    },
  };
  const thaw: PaletteEntry = {
    id: "thaw",
    title: "Thaw MAIN",
    group: "Actions",
    icon: "thaw",
    about: "landings go on",
    also: "unfreeze resume queue",
    run: () => void thawMain(project),
  };
  const halt: PaletteEntry = {
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
      label: "Reason (optional)",
      confirm: "Halt everything",
      danger: true,
      done: "Everything is halted",
      run: (why) => ask(api.POST("/api/halt", { body: { why: why || null } })),
    },
  };
  const save: PaletteEntry = {
    id: "export",
    title: "Export the log",
    group: "Actions",
    icon: "export",
    also: "download ndjson events",
    run: () => void logExport.save().catch((error: unknown) => toasts.error(error)),
  };
  const reload: PaletteEntry = {
    id: "reload",
    title: "Reload the page",
    group: "Actions",
    icon: "reload",
    also: "refresh reload",
    run: () => location.reload(),
  };
  const all = [...(appState.project ? [frozen ? thaw : freeze] : []), halt, save, reload];
  // A command of the page replaces the global action.
  return all.filter((order) => !commands.all.some((command) => command.id === `main-${order.id}`));
}

/** All entries except briefs. */
export function paletteEntries(): PaletteEntry[] {
  const isHelp = (entry: PaletteEntry) => entry.id === "help";
  const doable = commandEntries();
  return [...doable.filter((entry) => !isHelp(entry)), ...orders(), ...doable.filter(isHelp), ...things()];
}
