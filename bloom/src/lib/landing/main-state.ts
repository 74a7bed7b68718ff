//! MAIN in words: how it stands, and the ways out when it does not hold.
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
    default:
      return "MAIN cannot be judged";
  }
}

export function mainProtection(main: MainView): string {
  return main.protection === "kernel" ? "agents cannot write it" : "watched: changes by hand are noticed";
}

export type RecoveryAction = "rescue" | "adopt" | "restore" | "thaw";

/** What each way does, said before it is gone. */
export const RECOVERY: Record<RecoveryAction, { name: string; does: string; done: string }> = {
  rescue: {
    name: "Make it a worktree",
    does: "What was done by hand moves into a worktree of its own. Nothing is lost.",
    done: "It is a worktree now",
  },
  adopt: {
    name: "Take it in",
    does: "What was committed by hand goes through the checks like any landing.",
    done: "It is on its way through the checks",
  },
  restore: {
    name: "Put MAIN back",
    does: "MAIN goes back to where the log has it. What was there is kept.",
    done: "MAIN is back where it was",
  },
  thaw: { name: "Thaw", does: "What waits to land goes on.", done: "MAIN is thawed" },
};

export function recoveryActions(alarm: AlarmView | null | undefined): RecoveryAction[] {
  switch (alarm?.what) {
    case "dirty":
      return ["rescue"];
    case "moved":
      return ["adopt", "rescue", "restore"];
    case "detached":
    case "gone":
      return ["restore"];
    default:
      return [];
  }
}
