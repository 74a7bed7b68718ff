import { expect, test } from "./flower";
import { made } from "./lane";

// Frames are counted, and a recording would slow each of them.
test.use({ trace: "off" });
test.describe.configure({ timeout: 120_000 });

test("300 files with 60,000 lines open fast, scroll smoothly, and fold what is long", async ({ page, flower }) => {
  made(
    flower,
    `for i in $(seq 100 398); do mkdir -p src/part-$((i % 9)); seq 1 180 | sed "s/.*/let value_& = compute($i, \\"text\\"); \\/\\/ line &/" > src/part-$((i % 9))/file-$i.rs; done
seq 1 6200 | sed 's/.*/let many_& = &;/' > src/long.rs
`,
  );
  await flower.open(page, "/worktrees");
  await expect(page.getByRole("link", { name: "lane" })).toBeVisible();
  const began = Date.now();
  await page.getByRole("link", { name: "lane" }).click();
  await expect(page.getByText("300 files")).toBeVisible();
  await expect(page.getByRole("region", { name: "src/long.rs" })).toContainText("6,200 lines are collapsed");
  await expect(
    page.getByRole("region", { name: "src/part-0/file-108.rs" }).getByText("value_1", { exact: false }).first(),
  ).toBeAttached();
  const opened = Date.now() - began;
  // Only what is near the screen is drawn.
  expect(await page.locator("main tr").count()).toBeLessThan(3_000);
  const gaps = await page.evaluate(async () => {
    const main = document.querySelector("main");
    const found: number[] = [];
    let last = performance.now();
    for (let turn = 0; turn < 90; turn++) {
      main?.scrollBy(0, 120);
      await new Promise(requestAnimationFrame);
      found.push(performance.now() - last);
      last = performance.now();
    }
    return found.sort((a, b) => a - b);
  });
  const median = gaps[45] ?? 0;
  console.log(`huge diff: ${opened} ms to open, frames ${median.toFixed(1)} ms, p95 ${gaps[85]?.toFixed(1)} ms`);
  expect(opened).toBeLessThan(5_000);
  expect(median).toBeLessThan(40);
  expect(await page.locator("main tr").count()).toBeLessThan(3_000);
  // The list reaches files that were never drawn.
  const list = page.getByRole("list", { name: "Changed files" });
  await list.getByRole("button", { name: "file-396.rs" }).click();
  const last = page.getByRole("region", { name: "src/part-0/file-396.rs" });
  await expect(last.getByRole("row").first()).toBeInViewport();
  await list.getByRole("button", { name: "long.rs" }).click();
  await page.getByRole("region", { name: "src/long.rs" }).getByRole("button", { name: "Load this file" }).click();
  await expect(page.getByRole("region", { name: "src/long.rs" }).getByText("let many_1 = 1;")).toBeVisible();
});
