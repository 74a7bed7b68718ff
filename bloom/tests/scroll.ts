//! How smoothly a long list scrolls: what a frame takes, what it costs the processor, and how much of it is drawn.
import type { Page } from "@playwright/test";

export interface Scrolled {
  frames: number;
  /** Milliseconds between two frames, in the middle and at the 95th percentile. */
  median: number;
  p95: number;
  /** Milliseconds of the page's own thread for each frame, however busy the machine is. */
  work: number;
  /** The most lines that were in the document at once. */
  drawn: number;
}

interface Counting {
  counting: { gaps: number[]; drawn: number; on: boolean };
}

/** Turns the wheel at the pointer. */
export async function scrolled(page: Page, turns: number, by: number): Promise<Scrolled> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const worked = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1_000 * (metrics.find((metric) => metric.name === "TaskDuration")?.value ?? 0);
  };
  await page.evaluate(() => {
    const counting = { gaps: [] as number[], drawn: 0, on: true };
    (window as unknown as Counting).counting = counting;
    let last = performance.now();
    const tick = (now: number) => {
      counting.gaps.push(now - last);
      last = now;
      counting.drawn = Math.max(counting.drawn, document.querySelectorAll("[role=listitem]").length);
      if (counting.on) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const before = await worked();
  for (let turn = 0; turn < turns; turn++) await page.mouse.wheel(0, by);
  const after = await worked();
  const { gaps, drawn } = await page.evaluate(() => {
    const { counting } = window as unknown as Counting;
    counting.on = false;
    return counting;
  });
  const sorted = gaps.slice(1).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return {
    frames: sorted.length,
    median: at(0.5),
    p95: at(0.95),
    work: (after - before) / Math.max(sorted.length, 1),
    drawn,
  };
}

export function words(what: string, { frames, median, p95, work, drawn }: Scrolled): string {
  return (
    `${what}: ${frames} frames of ${median.toFixed(1)} ms (p95 ${p95.toFixed(1)}), ` +
    `${work.toFixed(1)} ms of work for each, at most ${drawn} lines drawn`
  );
}
