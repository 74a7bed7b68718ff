//! `/api/events` as it comes over the wire: frames of text, read bounded.
import type { EventView } from "./api";
import type { Topic } from "./updates";

/** An event of the log, or a hint that something which is not in the log has changed. */
type Frame = { event: EventView } | { topics: Topic[] };

/** Longer than any event; a stream that says more without a frame is broken. */
const MAX_FRAME = 64 * 1024 * 1024;

/** Splits text into frames as it arrives. Unknown frames are skipped. */
export class FrameParser {
  private rest = "";

  take(text: string): Frame[] {
    this.rest += text;
    if (this.rest.length > MAX_FRAME) throw new Error("a frame without an end");
    const blocks = this.rest.split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => frame(block) ?? []);
  }
}

function frame(block: string): Frame | undefined {
  let kind = "message";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (!data) return undefined;
  const value: unknown = JSON.parse(data);
  if (kind === "event") return { event: value as EventView };
  if (kind === "stirred") return { topics: value as Topic[] };
  return undefined;
}
