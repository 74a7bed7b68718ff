//! The draft of a new brief. It survives errors, closing and reloading until it is sent or dropped.
import type { BriefKind } from "../api";

const KEY = "flower.brief.draft";

interface Draft {
  title: string;
  kind: BriefKind;
  spec: string;
  project: string;
  epic: number | undefined;
  needs: number[];
  autoDispatch: boolean;
  designLoop: boolean;
}

const NOTHING: Draft = {
  title: "",
  kind: "feature",
  spec: "",
  project: "",
  epic: undefined,
  needs: [],
  autoDispatch: false,
  designLoop: false,
};

function kept(): Draft {
  try {
    return { ...NOTHING, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Draft>) };
  } catch {
    return { ...NOTHING };
  }
}

class NewBrief {
  open = $state(false);
  draft = $state<Draft>(kept());

  /** Keeps what is typed. A spec that does not fit into the browser's store lives as long as the window. */
  keep(): void {
    try {
      localStorage.setItem(KEY, JSON.stringify(this.draft));
    } catch {
      localStorage.removeItem(KEY);
    }
  }

  /** Clears the draft. With `another`, the next one keeps its project and epic. */
  drop(another: boolean): void {
    const { project, epic } = this.draft;
    this.draft = another ? { ...NOTHING, project, epic } : { ...NOTHING };
    localStorage.removeItem(KEY);
  }
}

export const newBrief = new NewBrief();
