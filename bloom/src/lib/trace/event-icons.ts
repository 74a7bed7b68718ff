//! The icons of events.
import Bot from "@lucide/svelte/icons/bot";
import CircleCheck from "@lucide/svelte/icons/circle-check";
import CircleDot from "@lucide/svelte/icons/circle-dot";
import CircleQuestionMark from "@lucide/svelte/icons/circle-question-mark";
import FilePen from "@lucide/svelte/icons/file-pen";
import GitMerge from "@lucide/svelte/icons/git-merge";
import Link from "@lucide/svelte/icons/link";
import MessageSquare from "@lucide/svelte/icons/message-square";
import Network from "@lucide/svelte/icons/network";
import Plus from "@lucide/svelte/icons/plus";
import Send from "@lucide/svelte/icons/send";
import Sprout from "@lucide/svelte/icons/sprout";
import StickyNote from "@lucide/svelte/icons/sticky-note";
import ArrowRight from "@lucide/svelte/icons/arrow-right";
import TriangleAlert from "@lucide/svelte/icons/triangle-alert";
import UserPlus from "@lucide/svelte/icons/user-plus";
import type { EventView, Topic } from "../api";
import { eventTone } from "../tones";
import { topicOf } from "./event-topic";

type Icon = typeof Bot;

const BY_TOPIC: Partial<Record<Topic, Icon>> = {
  agents: Bot,
  archives: Sprout,
  dispatches: Send,
  landings: GitMerge,
  links: Link,
  main: GitMerge,
  messages: Bot,
  permissions: CircleQuestionMark,
  questions: CircleQuestionMark,
  scratchpads: FilePen,
  specs: FilePen,
  worktrees: Sprout,
};

/** Kinds that have an icon of their own. */
const BY_KIND: Record<string, Icon> = {
  brief_created: Plus,
  brief_renamed: FilePen,
  comment_added: MessageSquare,
  decision_made: CircleCheck,
  dependency_added: Network,
  dependency_dropped: Network,
  dependency_met: Network,
  epic_changed: Network,
  landing_approved: CircleCheck,
  note_added: StickyNote,
  participant_joined: UserPlus,
  permission_decided: CircleCheck,
  spec_snapshot: CircleCheck,
  status_changed: ArrowRight,
};

export function iconOf(event: EventView): Icon {
  if (eventTone(event) === "danger") return TriangleAlert;
  return BY_KIND[event.kind] ?? BY_TOPIC[topicOf(event)] ?? CircleDot;
}
