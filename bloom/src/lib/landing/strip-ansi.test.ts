import { expect, it } from "vitest";
import { stripAnsi } from "./strip-ansi";

it("takes colours, titles, links and moves out", () => {
  expect(stripAnsi("\u001b[1;31merror\u001b[0m: no")).toBe("error: no");
  expect(stripAnsi("\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\b\u001b]8;;\u001b\\c")).toBe("abc");
  expect(stripAnsi("\u001b[2K\u001b[1Gdone\u001b(B")).toBe("done");
  expect(stripAnsi("a\u001b")).toBe("a");
});

it("shows what a line ended as", () => {
  expect(stripAnsi("10%\r50%\r100%\nnext\r\nlast")).toBe("100%\nnext\nlast");
});
