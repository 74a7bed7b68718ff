//! The state of MAIN in words, and its recovery actions.
import type { AlarmView, MainView } from "../api";

export function mainHeadline(main: MainView): string {
  switch (main.state) {
    case "stable":
      return "MAIN is stable";
    case "frozen":
      return "MAIN is frozen";
    case "dirty":
      return "Something was changed in MAIN by hand";
    case "moved":
      return "MAIN was moved by hand";
    case "unhealthy":
      return "MAIN is not healthy";
    case "unknown":
      return "The state of MAIN is unknown";
  }
}

export function mainProtection(main: MainView): string {
  return main.protection === "kernel" ? "agents cannot write to it" : "watched: changes by hand are detected";
}

export type RecoveryAction = "rescue" | "adopt" | "restore" | "thaw";

/** What each action does, shown before it is taken. */
export const RECOVERY: Record<RecoveryAction, { name: string; does: string; done: string }> = {
  rescue: {
    name: "Move it to a worktree",
    does: "The changes made by hand move into a new worktree. Nothing is lost.",
    done: "Moved to a worktree",
  },
  adopt: {
    name: "Adopt it",
    does: "The commits made by hand go through the checks like any landing.",
    done: "Adopted; its checks run",
  },
  restore: {
    name: "Restore MAIN",
    does: "MAIN returns to the recorded commit. Other commits are kept.",
    done: "MAIN is restored",
  },
  thaw: { name: "Thaw", does: "Waiting landings continue.", done: "MAIN is thawed" },
};

export function recoveryActions(alarm: AlarmView | null | undefined): RecoveryAction[] {
  switch (alarm?.what) {
    case "dirty":
      return ["rescue", "restore"];
    case "moved":
      return ["adopt", "rescue", "restore"];
    case "detached":
    case "gone":
      return ["restore"];
    default:
      return [];
  }
}
