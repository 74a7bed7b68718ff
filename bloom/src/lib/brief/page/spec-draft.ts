//! Unsaved specs, kept in this browser.

export interface SpecDraft {
  /** The version that it was made from. */
  base: number;
  text: string;
  why: string;
  at: number;
}

const BEGIN = "flower.draft.spec.";

function key(brief: number, base: number): string {
  return `${BEGIN}${brief}.${base}`;
}

/** The newest draft of a brief, of any base version. */
export function findSpecDraft(brief: number, storage: Storage = localStorage): SpecDraft | undefined {
  const found: SpecDraft[] = [];
  for (let at = 0; at < storage.length; at++) {
    const name = storage.key(at) ?? "";
    if (name.startsWith(`${BEGIN}${brief}.`)) {
      const draft = parse(storage.getItem(name));
      if (draft) found.push(draft);
    }
  }
  return found.sort((a, b) => b.at - a.at)[0];
}

function parse(stored: string | null): SpecDraft | undefined {
  try {
    const draft = JSON.parse(stored ?? "null") as SpecDraft | null;
    return draft && typeof draft.text === "string" && typeof draft.base === "number" ? draft : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it could be kept: browsers give a page about 5 MB. */
export function keepSpecDraft(brief: number, draft: SpecDraft, storage: Storage = localStorage): boolean {
  try {
    storage.setItem(key(brief, draft.base), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

/** All of a brief's. */
export function dropSpecDrafts(brief: number, storage: Storage = localStorage): void {
  const names = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "");
  for (const name of names) if (name.startsWith(`${BEGIN}${brief}.`)) storage.removeItem(name);
}
