import { expect, it } from "vitest";
import { plain } from "./ansi";

it("takes colours, titles, links and moves out", () => {
  expect(plain("\u001b[1;31merror\u001b[0m: no")).toBe("error: no");
  expect(plain("\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\b\u001b]8;;\u001b\\c")).toBe("abc");
  expect(plain("\u001b[2K\u001b[1Gdone\u001b(B")).toBe("done");
  expect(plain("a\u001b")).toBe("a");
});

it("shows what a line ended as", () => {
  expect(plain("10%\r50%\r100%\nnext\r\nlast")).toBe("100%\nnext\nlast");
});
