import { expect, it } from "vitest";
import { LogTail } from "./log-tail";

const bytes = (text: string) => new TextEncoder().encode(text);

it("keeps what comes, also when a letter comes in two parts", () => {
  const tail = new LogTail();
  const umlaut = bytes("grün");
  tail.take(umlaut.slice(0, 3));
  tail.take(umlaut.slice(3));
  expect(tail.text).toBe("grün");
  expect(tail.at).toBe(5);
  expect(tail.cut).toBe(false);
});

it("lets the beginning go, by whole lines", () => {
  const tail = new LogTail();
  for (let at = 0; at < 80_000; at += 1) tail.take(bytes(`line ${at}\n`));
  expect(tail.cut).toBe(true);
  expect(tail.text.length).toBeLessThanOrEqual(512 * 1024);
  expect(tail.text.startsWith("line ")).toBe(true);
  expect(tail.text.endsWith("line 79999\n")).toBe(true);
});
