//! Removes terminal sequences from the output of a program.

const ESCAPES =
  // eslint-disable-next-line no-control-regex -- escape sequences are control characters
  /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[PX^_][^\u001b]*(?:\u001b\\)?|\u001b\[[0-?]*[ -/]*[@-~]?|\u001b[ -/]*[0-~]?/g;

/** A line that was written over, as progress bars do, is only what it ended as. */
export function stripAnsi(text: string): string {
  const clean = text.replace(ESCAPES, "").replaceAll("\r\n", "\n");
  if (!clean.includes("\r") && !clean.includes("\b")) return clean;
  return clean
    .split("\n")
    .map((line) => overwritten(line))
    .join("\n");
}

function overwritten(line: string): string {
  const last = line
    .split("\r")
    .filter((part) => part !== "")
    .at(-1);
  return (last ?? "").replaceAll("\b", "");
}
