import { describe, expect, it } from "vitest";
import { FrameParser } from "./event-stream";

const WIRE = [
  ": alive\n\n",
  'event: event\ndata: {"seq":1,"said":"ä 🌷"}\n\n',
  'id: 2\nevent: event\ndata: {"seq":2,\ndata: "said":""}\n\n',
  'event: stirred\ndata: ["agents","landings"]\n\n',
  "event: unheard-of\ndata: 7\n\n",
].join("");
const TOLD = [{ event: { seq: 1, said: "ä 🌷" } }, { event: { seq: 2, said: "" } }, { topics: ["agents", "landings"] }];

describe("frames", () => {
  it("are the same wherever the wire is cut", () => {
    for (let first = 0; first <= WIRE.length; first++) {
      for (const second of [first, Math.min(first + 1, WIRE.length), Math.min(first + 30, WIRE.length)]) {
        const frames = new FrameParser();
        const parts = [WIRE.slice(0, first), WIRE.slice(first, second), WIRE.slice(second)];
        expect(parts.flatMap((part) => frames.take(part))).toEqual(TOLD);
      }
    }
  });

  it("come one by one from a wire that gives single letters", () => {
    const frames = new FrameParser();
    expect([...WIRE].flatMap((letter) => frames.take(letter))).toEqual(TOLD);
  });

  it("are not given before they have ended", () => {
    const frames = new FrameParser();
    expect(frames.take('event: stirred\ndata: ["inbox"]\n')).toEqual([]);
    expect(frames.take("\n")).toEqual([{ topics: ["inbox"] }]);
  });

  it("without an end are refused", () => {
    const frames = new FrameParser();
    const much = "x".repeat(8 * 1024 * 1024);
    expect(() => {
      for (let part = 0; part < 9; part++) frames.take(much);
    }).toThrow("without an end");
  });
});
