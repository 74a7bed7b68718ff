//! A unified diff of git's, read into files, hunks and lines.

export type Change = "changed" | "added" | "deleted" | "renamed" | "copied";
export type LineKind = "same" | "added" | "removed";

export interface Line {
  kind: LineKind;
  text: string;
  /** Its number before, and after. */
  old?: number;
  new?: number;
  /** The file ends with it, without a line break. */
  open?: boolean;
}

export interface Hunk {
  old: number;
  new: number;
  /** What git takes for the function or section around it. */
  about: string;
  lines: Line[];
}

export interface FileChange {
  path: string;
  /** Where it was, if it is elsewhere now. */
  from?: string;
  change: Change;
  binary: boolean;
  /** Before and after, if they differ. */
  modes?: [string, string];
  /** The one it has, where git says it: of what is new, gone, or only changed inside. */
  mode?: string;
  /** Which content it had and has, by git's names. */
  contents?: string;
  /** It is on both sides, and nothing is left in it. */
  emptied?: boolean;
  hunks: Hunk[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

export function parseDiff(text: string): FileChange[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const files: FileChange[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (!line.startsWith("diff --git ")) {
      at += 1;
      continue;
    }
    const [file, next] = readFile(lines, at);
    files.push(file);
    at = next;
  }
  return files;
}

function readFile(lines: string[], start: number): [FileChange, number] {
  const [before, after] = pathsOfTitle((lines[start] ?? "").slice("diff --git ".length));
  let from = before;
  let path = after;
  let oldMode = "";
  let newMode = "";
  const file: FileChange = { path, change: "changed", binary: false, hunks: [], added: 0, removed: 0 };
  let at = start + 1;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const rest = (word: string) => (line.startsWith(word) ? line.slice(word.length) : undefined);
    if (line.startsWith("diff --git ")) break;
    if (line.startsWith("@@ ")) {
      const [hunk, next] = readHunk(lines, at);
      if (hunk) file.hunks.push(hunk);
      at = next - 1;
      continue;
    }
    const title = rest("--- ");
    if (title !== undefined) from = pathOf(title) ?? from;
    const newTitle = rest("+++ ");
    if (newTitle !== undefined) path = pathOf(newTitle) ?? path;
    oldMode = rest("old mode ") ?? oldMode;
    newMode = rest("new mode ") ?? newMode;
    if (line.startsWith("new file mode ")) file.change = "added";
    if (line.startsWith("deleted file mode ")) file.change = "deleted";
    file.mode = /^(?:new file mode|deleted file mode|new mode|index \S+) (\d{6})$/.exec(line)?.[1] ?? file.mode;
    file.contents = /^index (\S+)/.exec(line)?.[1] ?? file.contents;
    const moved = rest("rename from ") ?? rest("copy from ");
    if (moved !== undefined) {
      file.change = line.startsWith("rename") ? "renamed" : "copied";
      from = unquoted(moved);
    }
    const to = rest("rename to ") ?? rest("copy to ");
    if (to !== undefined) path = unquoted(to);
    if (line.startsWith("Binary files ") || line === "GIT binary patch") file.binary = true;
  }
  file.path = path;
  if (from !== path) file.from = from;
  if (oldMode && newMode) file.modes = [oldMode, newMode];
  for (const hunk of file.hunks) {
    for (const line of hunk.lines) {
      if (line.kind === "added") file.added += 1;
      if (line.kind === "removed") file.removed += 1;
    }
  }
  // Git says of an emptied file that its last hunk ends before the first line.
  const [only, ...others] = file.hunks;
  if (file.change === "changed" && only?.new === 0 && others.length === 0) file.emptied = true;
  return [file, at];
}

/** Reads as many lines as the header counts, so that a line that looks like a header is not one. */
function readHunk(lines: string[], start: number): [Hunk | undefined, number] {
  const title = HUNK.exec(lines[start] ?? "");
  if (!title) return [undefined, start + 1];
  let [old, fresh] = [Number(title[1]), Number(title[3])];
  let [oldLeft, newLeft] = [Number(title[2] ?? 1), Number(title[4] ?? 1)];
  const hunk: Hunk = { old, new: fresh, about: title[5] ?? "", lines: [] };
  let at = start + 1;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (line.startsWith("\\")) {
      const last = hunk.lines.at(-1);
      if (last) last.open = true;
      continue;
    }
    if (oldLeft <= 0 && newLeft <= 0) break;
    const text = line.slice(1);
    if (line.startsWith("+")) {
      hunk.lines.push({ kind: "added", text, new: fresh++ });
      newLeft -= 1;
    } else if (line.startsWith("-")) {
      hunk.lines.push({ kind: "removed", text, old: old++ });
      oldLeft -= 1;
    } else if (line.startsWith(" ") || line === "") {
      hunk.lines.push({ kind: "same", text, old: old++, new: fresh++ });
      oldLeft -= 1;
      newLeft -= 1;
    } else break;
  }
  return [hunk, at];
}

/** `a/one b/two`, where neither says where it ends: git writes it so only if both are the same. */
function pathsOfTitle(title: string): [string, string] {
  if (title.startsWith('"') || title.endsWith('"')) {
    const parts = title.match(/"(?:[^"\\]|\\.)*"|\S.*?(?= "|$)/g) ?? [];
    const [before = "", after = before] = parts.map((part) => withoutSide(unquoted(part)));
    return [before, after];
  }
  const same = title.slice(2, 2 + (title.length - 5) / 2);
  if (title === `a/${same} b/${same}`) return [same, same];
  const gap = title.indexOf(" b/");
  return gap < 0
    ? [withoutSide(title), withoutSide(title)]
    : [withoutSide(title.slice(0, gap)), title.slice(gap + " b/".length)];
}

/** Of a `---` or `+++` line; nothing if the file is not there on that side. */
function pathOf(title: string): string | undefined {
  // A tab ends a path that has a space in it.
  const name = unquoted(title.replace(/\t$/, ""));
  return name === "/dev/null" ? undefined : withoutSide(name);
}

function withoutSide(name: string): string {
  return name.replace(/^[ab]\//, "");
}

const ESCAPES: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92 };

/** Git quotes names that have odd characters, and writes bytes as three octal digits. */
export function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"') || name.length < 2) return name;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const part of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gu)) {
    if (part[1]) bytes.push(parseInt(part[1], 8));
    else if (part[2]) bytes.push(ESCAPES[part[2]] ?? part[2].charCodeAt(0));
    else bytes.push(...encoder.encode(part[0]));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
