//! Thaws MAIN. While MAIN is frozen flower starts no agent, so that a thaw may start several.
import { toasts } from "../toasts.svelte";
import { api, ask, type DispatchView } from "../api";
import { confirmations, type Confirmation } from "../confirmations.svelte";
import { count } from "../format";

/** More are counted, not listed. */
const MAX_LISTED = 8;

/** Dispatches that wait for the thaw only. */
export function startedByThaw(dispatches: DispatchView[]): DispatchView[] {
  return dispatches.filter((one) => one.state === "requested" && one.waits[0]?.code === "main_frozen");
}

export function thawConfirmation(project: string, starting: DispatchView[]): Confirmation {
  const agents = count(starting.length, "agent");
  const list = starting
    .slice(0, MAX_LISTED)
    .map((one) => `#${one.brief} ${one.title}: ${one.kind} by ${one.agent ?? "the default agent"}`);
  const more = starting.length - list.length;
  return {
    title: `Thaw MAIN of ${project} and start ${agents}?`,
    paragraphs: [
      `Landings go on, and ${agents} ${starting.length === 1 ? "starts" : "start"} on what was dispatched meanwhile:`,
    ],
    list: more > 0 ? [...list, `and ${more} more`] : list,
    verb: `Thaw and start ${agents}`,
  };
}

/** Prevents a second request while one runs. */
let thawing = false;

/** Confirms first if agents start. Resolves to whether MAIN is thawed; errors are shown. */
export async function thawMain(project: string): Promise<boolean> {
  if (thawing) return false;
  thawing = true;
  const params = { query: { project } };
  try {
    const starting = startedByThaw(await ask(api.GET("/api/dispatches", { params })));
    if (starting.length > 0 && !(await confirmations.ask(thawConfirmation(project, starting)))) return false;
    await ask(api.POST("/api/main/thaw", { params }));
    toasts.show("MAIN is thawed");
    return true;
  } catch (error) {
    toasts.error(error);
    return false;
  } finally {
    thawing = false;
  }
}
