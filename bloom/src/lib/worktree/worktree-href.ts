//! Links to worktrees. Two projects may have worktrees of the same name, so links name the project.

/** Without a project it is the one that is looked at. */
export function worktreeHref(name: string, project?: string | null, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ ...(project ? { project } : {}), ...more }).toString();
  return `/worktrees/${encodeURIComponent(name)}${query ? `?${query}` : ""}`;
}

/** One of its commits, and what that changed. */
export function commitHref(worktree: string, project: string | null | undefined, commit: string): string {
  return worktreeHref(worktree, project, { tab: "commits", commit });
}

/** The project of a brief's worktrees, by default. */
export function homeProject(brief: { projects: { name: string; primary: boolean }[] }): string | undefined {
  return (brief.projects.find((project) => project.primary) ?? brief.projects[0])?.name;
}
