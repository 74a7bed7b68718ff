//! Notes on a changed file beyond its lines: modes, links, binary content.
import type { FileChange } from "./parse-diff";

const LINK = "120000";
const MODULE = "160000";
const MODES: Record<string, string> = {
  "100644": "an ordinary file",
  "100755": "a file that can be run",
  [LINK]: "a symbolic link",
  [MODULE]: "a repository inside this one",
};
const modeWords = (mode: string) => MODES[mode] ?? `a file of mode ${mode}`;

export function fileNotes(file: FileChange): string[] {
  const said: string[] = [];
  if (file.modes) said.push(`It was ${modeWords(file.modes[0])}, and is ${modeWords(file.modes[1])}.`);
  else if (file.mode === LINK) said.push(linkWords(file));
  else if (file.mode === MODULE) said.push("It is a repository inside this one; what is shown is its commit.");
  else if (file.mode === "100755" && file.change === "added") said.push("It can be run.");
  if (file.binary) return [...said, "It is a binary file; its changes are not shown."];
  if (file.emptied) said.push("Nothing is left in it; the file itself stays.");
  if (file.hunks.length > 0 || file.modes) return said;
  if (file.change === "renamed") return [...said, "Only its name changed."];
  if (file.change === "copied") return [...said, "It is the same as what it was copied from."];
  if (file.change === "deleted") return [...said, "It was empty."];
  return [...said, "It is empty."];
}

function linkWords(file: FileChange): string {
  if (file.change === "deleted") return "It was a symbolic link; what is shown is where it led.";
  return "It is a symbolic link; what is shown is where it leads.";
}
