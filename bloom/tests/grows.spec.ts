import { expect, test } from "./flower";

test("home says what agents use and what is on its way, and the stem grows as it happens", async ({ page, flower }) => {
  test.slow();
  await flower.open(page);
  const work = "write src/long.txt a\ncommit a\nusage 60000 100000 1.25\nsay working\nhang";
  flower.dispatched("Longer", work);
  const main = page.getByRole("region", { name: /^MAIN is/ });
  await expect(main.locator("time").first()).toHaveText(/^for \d+[smh]$/);
  const row = page.getByRole("region", { name: "Worktrees" }).getByRole("row", { name: /b1-longer/ });
  await expect(row.getByRole("meter", { name: "Context" })).toHaveAttribute("aria-valuenow", "60", { timeout: 30_000 });
  await expect(row).toContainText("$1.25");
  await expect(row).toContainText("1 ahead");
  await expect(row).not.toContainText("behind");

  // It hands back when it is told to: not before MAIN is frozen, however long the page takes.
  flower.dispatched("Greet", "write src/hello.txt hi\ncommit greet\nquestion Ready?\nwait\nhand-back done");
  await expect(page.getByRole("region", { name: "Worktrees" }).getByRole("row", { name: /b2-greet/ })).toContainText(
    "1 ahead",
    { timeout: 30_000 },
  );
  flower.run("freeze", "a moment");
  flower.run("agent", "tell", "play-2", "go on");
  await expect(main.getByText("on its way").locator("..").getByRole("link", { name: "Greet" })).toBeVisible({
    timeout: 30_000,
  });
  const stem = page.getByRole("group", { name: "The stem of MAIN" });
  await expect(stem.getByRole("link", { name: /^landed: Greet/ })).toHaveCount(0);
  flower.run("thaw");
  await expect(stem.getByRole("link", { name: /^landed: Greet/ })).toBeVisible({ timeout: 30_000 });
  await expect(main).toContainText("Nothing waits to land");
  await expect(row).toContainText(/\d+ behind/);

  // A rejected landing is dispatched again, so that more of them follow.
  flower.dispatched("Ruin", "write src/ruin.txt broken\ncommit ruin\nhand-back done");
  await expect(stem.getByRole("link", { name: /^rejected: Ruin/ }).first()).toBeVisible({ timeout: 30_000 });
  await page.getByRole("button", { name: "As a table" }).click();
  await expect(page.getByRole("row", { name: /landed Greet/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /rejected Ruin/ }).first()).toBeVisible();
});
