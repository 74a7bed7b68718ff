//! The text of an event on the page.
import type { EventView, Image } from "../api";
import { humanize } from "../format";
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

const NAMES: Record<string, string> = {
  status_changed: "status change",
  comment_added: "comment",
  question_asked: "question",
  decision_made: "decision",
  brief_renamed: "renamed",
};

/** `project` has the worktrees that the event names. */
export function describeEvent(event: EventView, project?: string): EventText {
  const body = event.body as Body;
  const what = NAMES[event.kind] ?? humanize(event.kind);
  const known = DETAILS[event.kind]?.(body, project);
  return { what, detail: event.said || undefined, pictures: [], ...known };
}

const str = (value: unknown): string => (typeof value === "string" ? value : "");
const num = (value: unknown): string => (typeof value === "number" ? String(value) : "");
const join = (...parts: string[]): string => parts.filter(Boolean).join(" · ");
const markdown = (body: Body): Partial<EventText> => ({ text: str(body.text), detail: undefined });

/** Text that people and agents wrote is shown in full, and some events lead to a page. All other words are flower's own. */
const DETAILS: Record<string, (body: Body, project?: string) => Partial<EventText>> = {
  plan_proposed: (body) => ({ detail: `version ${num(body.version)}`, text: str(body.markdown) }),
  refinement: (body) => ({ detail: join(`version ${num(body.version)}`, str(body.why)), text: str(body.markdown) }),
  comment_added: (body) => ({ ...markdown(body), pictures: pictures(body) }),
  note_added: (body) => ({ ...markdown(body), pictures: pictures(body) }),
  question_asked: markdown,
  decision_made: markdown,
  dispatch_handed_back: result,
  dispatch_failed: result,
  dispatch_late: result,
  epic_changed: (body) => (typeof body.to === "number" ? { href: `/briefs/${body.to}` } : {}),
  dependency_added: briefHref,
  dependency_dropped: briefHref,
  dependency_met: briefHref,
  link_added: (body, project) => ({ href: linkHref(str(body.kind), str(body.target), project) }),
  landing_queued: landingHref,
  landed: landingHref,
  landing_rejected: landingHref,
};

function briefHref(body: Body): Partial<EventText> {
  return { href: `/briefs/${num(body.needs)}` };
}

function landingHref(body: Body): Partial<EventText> {
  return { href: `/landing/${num(body.number)}` };
}

function result(body: Body): Partial<EventText> {
  const open = str(body.not_done);
  return {
    detail: join(`dispatch ${num(body.number)}`, `by ${str(body.holder)}`),
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

const TALK = ["comment_added", "note_added", "question_asked", "decision_made"];

/** Comments, notes, questions and decisions. */
export function isTalk(event: EventView): boolean {
  return TALK.includes(event.kind);
}
