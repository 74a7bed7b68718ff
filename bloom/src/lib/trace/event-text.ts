//! The text of an event on the page.
import type { EventView, Image } from "../api";
import { shortCommit, humanize } from "../format";
import type { EventKind } from "../updates";
import { worktreeHref } from "../worktree/worktree-href";

export interface EventText {
  /** Its name, such as `status change` or `link added`. */
  what: string;
  /** One line more. */
  detail?: string;
  /** Where that line leads. */
  href?: string;
  /** Markdown written by the actor. */
  text?: string;
  pictures: Image[];
}

type Body = Record<string, unknown>;

const NAMES: Partial<Record<EventKind, string>> = {
  status_changed: "status change",
  comment_added: "comment",
  question_asked: "question",
  decision_made: "decision",
  brief_renamed: "renamed",
};

/** `project` is where the worktrees that it speaks of are. */
export function describeEvent(event: EventView, project?: string): EventText {
  const body = event.body as Body;
  const what = NAMES[event.kind as EventKind] ?? humanize(event.kind);
  const known = DETAILS[event.kind as EventKind]?.(body, project);
  return { what, detail: event.said || undefined, pictures: [], ...known };
}

const str = (value: unknown): string => (typeof value === "string" ? value : "");
const num = (value: unknown): string => (typeof value === "number" ? String(value) : "");
const join = (...parts: string[]): string => parts.filter(Boolean).join(" · ");
const markdown = (body: Body): Partial<EventText> => ({ text: str(body.text), detail: undefined });

const DETAILS: Partial<Record<EventKind, (body: Body, project?: string) => Partial<EventText>>> = {
  brief_created: (body) => ({ detail: join(str(body.kind), str(body.title)) }),
  plan_proposed: (body) => ({ detail: `version ${num(body.version)}`, text: str(body.markdown) }),
  refinement: (body) => ({ detail: join(`version ${num(body.version)}`, str(body.why)), text: str(body.markdown) }),
  spec_snapshot: (body) => ({ detail: `version ${num(body.version)} is the accepted one` }),
  status_changed: (body) => ({
    detail: join(`${humanize(str(body.from))} → ${humanize(str(body.to))}`, str(body.why)),
  }),
  brief_renamed: (body) => ({ detail: str(body.to) }),
  kind_changed: (body) => ({ detail: `${str(body.from)} → ${str(body.to)}` }),
  epic_changed: (body) => ({
    detail: typeof body.to === "number" ? `part of #${body.to}` : "part of no epic",
    href: typeof body.to === "number" ? `/briefs/${body.to}` : undefined,
  }),
  projects_changed: (body) => ({ detail: Array.isArray(body.projects) ? body.projects.map(str).join(", ") : "" }),
  dispatch_options_changed: (body) => ({
    detail: `auto-dispatch ${body.auto_dispatch ? "on" : "off"} · design-loop ${body.design_loop ? "on" : "off"}`,
  }),
  dependency_added: (body) => needs(body, "depends on"),
  dependency_dropped: (body) => needs(body, "no longer depends on"),
  dependency_met: (body) => needs(body, "is there:"),
  comment_added: (body) => ({ ...markdown(body), pictures: pictures(body) }),
  note_added: (body) => ({ ...markdown(body), pictures: pictures(body) }),
  question_asked: markdown,
  decision_made: markdown,
  link_added: (body, project) => {
    const target = str(body.target);
    const label = str(body.label);
    const shown = body.kind === "commit" ? shortCommit(target) : target;
    return {
      detail: join(str(body.kind), shown, label === target ? "" : label),
      href: linkHref(str(body.kind), target, project),
    };
  },
  participant_joined: (body) => ({ detail: join(str(body.name), str(body.role), str(body.worktree)) }),
  dispatch_requested: (body) => ({
    detail: join(
      `${num(body.number)} ${str(body.kind)}`,
      body.profile ? `for ${str(body.profile)}` : "unclaimed",
      body.auto ? "by itself" : "",
    ),
  }),
  dispatch_claimed: (body) => ({ detail: join(num(body.number), `by ${str(body.holder)}`, str(body.worktree)) }),
  dispatch_handed_back: result,
  dispatch_failed: result,
  dispatch_late: result,
  landing_queued: (body) => ({ detail: join(num(body.number), str(body.title)), href: `/landing/${num(body.number)}` }),
  landed: (body) => ({ detail: `landing ${num(body.number)} is in MAIN`, href: `/landing/${num(body.number)}` }),
  landing_rejected: (body) => ({ detail: str(body.why), href: `/landing/${num(body.number)}` }),
  scratchpad_created: (body) => ({ detail: join(num(body.number), str(body.title)) }),
  scratchpad_written: (body) => ({ detail: `${num(body.number)} · version ${num(body.version)}` }),
};

function needs(body: Body, words: string): Partial<EventText> {
  return { detail: `${words} #${num(body.needs)}`, href: `/briefs/${num(body.needs)}` };
}

function result(body: Body): Partial<EventText> {
  const open = str(body.not_done);
  return {
    detail: join(num(body.number), `by ${str(body.holder)}`),
    text: str(body.summary) + (open ? `\n\nNot done: ${open}` : ""),
  };
}

function pictures(body: Body): Image[] {
  return Array.isArray(body.images)
    ? (body.images as Image[]).filter((image) => typeof image?.sha256 === "string")
    : [];
}

/** Where a link of a brief leads, if this page knows the place. */
export function linkHref(kind: string, target: string, project?: string): string | undefined {
  switch (kind) {
    case "brief":
      return /^\d+$/.test(target) ? `/briefs/${target}` : undefined;
    case "worktree":
      return worktreeHref(target, project);
    case "landing":
      return /^\d+$/.test(target) ? `/landing/${target}` : undefined;
    case "address":
      return /^https?:\/\//i.test(target) ? target : undefined;
    default:
      return undefined;
  }
}

const TALK: EventKind[] = ["comment_added", "note_added", "question_asked", "decision_made"];

/** Comments, notes, questions and decisions. */
export function isTalk(event: EventView): boolean {
  return TALK.includes(event.kind as EventKind);
}
