//! The files that the operator has marked as viewed, kept in this browser until a file changes.
import type { FileChange } from "./parse-diff";

const KEY = "flower.viewed";
/** Older ones are forgotten. */
const MAX_FILES = 1_000;

function stored(): [string, string][] {
  try {
    const known: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(known) ? (known as [string, string][]) : [];
  } catch {
    return [];
  }
}

/** Cached, because it reads every line. */
const known = new WeakMap<FileChange, string>();

/** A fingerprint of a file's changes. */
export function fingerprint(file: FileChange): string {
  const made = known.get(file) ?? make(file);
  known.set(file, made);
  return made;
}

function make(file: FileChange): string {
  let sum = 2_166_136_261;
  const take = (text: string) => {
    for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 16_777_619);
  };
  for (const hunk of file.hunks) for (const line of hunk.lines) take(`${line.kind[0]}${line.text}\n`);
  return `${file.added}.${file.removed}.${(sum >>> 0).toString(36)}`;
}

export class ViewedFiles {
  private known = $state.raw(new Map(stored()));

  constructor(private readonly of: () => string) {}

  private key(file: FileChange): string {
    // What became something else, as a link, is gone and new under one name.
    return `${this.of()}/${file.path}${file.change === "deleted" ? " deleted" : ""}`;
  }

  has(file: FileChange): boolean {
    return this.known.get(this.key(file)) === fingerprint(file);
  }

  set(file: FileChange, viewed: boolean): void {
    const known = new Map(stored());
    known.delete(this.key(file));
    if (viewed) known.set(this.key(file), fingerprint(file));
    this.known = new Map([...known].slice(-MAX_FILES));
    localStorage.setItem(KEY, JSON.stringify([...this.known]));
  }
}
