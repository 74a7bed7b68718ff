//! P19: what the first load weighs, and whether long lists scroll as smoothly as an empty page.
import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Flower } from "../tests/flower";

const BRIEFS = 10_000;

function figure(
  what: string,
  measured: string,
  peer: string,
  ratio: number | null,
  goal: string,
  reached: boolean,
): void {
  console.log(JSON.stringify({ id: "P19", what, measured, peer, ratio, goal, reached }));
}

/** Makes briefs over HTTP, many at a time. */
async function fill(flower: Flower): Promise<void> {
  const token = readFileSync(join(flower.home, "token"), "utf8").trim();
  let next = 0;
  const make = async () => {
    while (next++ < BRIEFS) {
      const body = JSON.stringify({ title: `Brief ${next} of a long list`, project: "shop" });
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const answer = await fetch(`${flower.url}/api/briefs`, { method: "POST", headers, body });
      if (!answer.ok) throw new Error(await answer.text());
    }
  };
  await Promise.all(Array.from({ length: 32 }, make));
}

/** How far the wheel turns every 50 ms: one notch, which is as fast as a finger does it; and flung, ten times as fast. */
const NOTCH = 120;
const FLUNG = 1_200;

/** Times between frames, in milliseconds, in order of size, while the wheel turns. */
async function frames(page: Page, by: number): Promise<number[]> {
  const measured = page.evaluate(
    () =>
      new Promise<number[]>((done) => {
        const times: number[] = [];
        const began = performance.now();
        const tick = (now: number) => {
          times.push(now);
          if (now - began < 5_000) requestAnimationFrame(tick);
          else done(times.slice(1).map((time, at) => time - times[at]!));
        };
        requestAnimationFrame(tick);
      }),
  );
  for (let turn = 0; turn < 80; turn++) {
    if (by > 0) await page.mouse.wheel(0, by);
    await page.waitForTimeout(50);
  }
  return (await measured).sort((a, b) => a - b);
}

const at = (sorted: number[], share: number) => sorted[Math.floor((sorted.length - 1) * share)]!;
const words = (sorted: number[]) =>
  `a frame every ${at(sorted, 0.5).toFixed(1)} ms, p95 ${at(sorted, 0.95).toFixed(1)} ms, p99 ${at(sorted, 0.99).toFixed(1)} ms`;

test("the first load", async ({ page, flower }) => {
  const client = await page.context().newCDPSession(page);
  await client.send("Network.enable");
  const kinds = new Map<string, string>();
  let [bytes, requests] = [0, 0];
  client.on("Network.responseReceived", (seen) => kinds.set(seen.requestId, seen.response.url));
  client.on("Network.loadingFinished", (seen) => {
    if (kinds.get(seen.requestId)?.includes("/api/")) return;
    bytes += seen.encodedDataLength;
    requests += 1;
  });
  await flower.open(page, "/");
  await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1);
  const measured = `${Math.round(bytes / 1024)} KB packed in ${requests} files, first paint after ${Math.round(paint)} ms`;
  figure("first load of home, with fonts and icons", measured, "–", null, "≤ 250 KB packed", bytes <= 250 * 1024);
});

test("long lists", async ({ page, flower }) => {
  await fill(flower);
  await flower.open(page, "/inbox");
  const still = await frames(page, 0);
  for (const [what, path, list] of [
    [`the list of ${BRIEFS} briefs, scrolled:`, "/briefs?show=all", "Briefs"],
    [`the trace of ${2 * BRIEFS} events, scrolled:`, "/trace", "Events"],
  ] as const) {
    await page.goto(`${flower.url}${path}`);
    await expect(page.locator("[data-live=live]")).toBeVisible();
    await page.getByRole("list", { name: list }).first().hover();
    await page.waitForTimeout(2_000);
    for (const [how, by] of [
      ["20 notches a second", NOTCH],
      ["flung, ten times as fast", FLUNG],
    ] as const) {
      const scrolled = await frames(page, by);
      const ratio = at(scrolled, 0.95) / at(still, 0.95);
      const reached = at(scrolled, 0.95) <= Math.max(17.5, at(still, 0.95) * 1.1);
      const peer = `the same page at rest: ${words(still)}`;
      figure(`${what} ${how}`, words(scrolled), peer, ratio, "60 frames a second", reached);
    }
  }
});
