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

const ICONS: [RegExp, typeof Bot][] = [
  [/(rejected|rolled_back|failed|refused|breached|diverged|alarm|late|expired)$/, TriangleAlert],
  [/^comment_added$/, MessageSquare],
  [/^note_added$/, StickyNote],
  [/^question_|^permission_asked$/, CircleQuestionMark],
  [/^(decision_made|spec_snapshot|permission_decided|landing_approved)$/, CircleCheck],
  [/^(plan_proposed|refinement|brief_renamed|scratchpad_)/, FilePen],
  [/^status_changed$/, ArrowRight],
  [/^link_added$/, Link],
  [/^participant_/, UserPlus],
  [/^(dependency_|epic_)/, Network],
  [/^brief_created$/, Plus],
  [/^dispatch_/, Send],
  [/^(landing_|landed|checks_|check_|main_|push)/, GitMerge],
  [/^worktree_/, Sprout],
  [/^agent_|^message_/, Bot],
];

export function iconOf(kind: string): typeof Bot {
  return ICONS.find(([pattern]) => pattern.test(kind))?.[1] ?? CircleDot;
}
