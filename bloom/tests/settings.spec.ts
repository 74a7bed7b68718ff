import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expectNoSeriousFindings } from "./axe";
import { chord, expect, look, test } from "./flower";

test("flower says what it is, and opens in another browser", async ({ page, flower, browser }) => {
  await flower.open(page);
  await chord(page, "g", "s");
  const about = page.getByRole("region", { name: "This flower" });
  await expect(about).toContainText(flower.url);
  await expect(about.getByRole("link", { name: /events$/ })).toBeVisible();
  await page.keyboard.press("o");
  const link = await about.getByText(/#open=[0-9a-f]{64}/).textContent();
  const elsewhere = await browser.newContext();
  const other = await elsewhere.newPage();
  await other.goto(link ?? "");
  await expect(other.locator("[data-live=live]")).toBeVisible();
  await expect(other.getByRole("heading", { name: "MAIN is stable" })).toBeVisible();
  expect(new URL(other.url()).hash).toBe("");
  // It works once.
  const third = await browser.newContext();
  const late = await third.newPage();
  await late.goto(link ?? "");
  await expect(late.getByRole("heading", { name: "This page needs a fresh link" })).toBeVisible();
  await elsewhere.close();
  await third.close();
});

test("a token is made, shown once, used, and revoked in every window", async ({ page, flower }) => {
  await flower.open(page, "/settings");
  const tokens = page.getByRole("region", { name: "Tokens" });
  await expect(tokens).toContainText("No agent has a token");
  await page.keyboard.press("t");
  const dialog = page.getByRole("dialog", { name: "New token" });
  await dialog.getByLabel("Name of the agent").fill("nightly");
  await dialog.getByLabel("Role").selectOption("ops");
  await expectNoSeriousFindings(page);
  await dialog.getByRole("button", { name: "Create token" }).click();
  const token = (await dialog.locator("code.wrap").textContent()) ?? "";
  const asked = () =>
    fetch(`${flower.url}/api/briefs`, { headers: { authorization: `Bearer ${token}` } }).then(
      (answer) => answer.status,
    );
  expect(await asked()).toBe(200);
  await dialog.getByRole("button", { name: "Done" }).click();
  await expect(tokens.getByRole("list", { name: "Tokens" })).toContainText("nightly");
  await expect(page.getByText(token)).toHaveCount(0);
  const second = await page.context().newPage();
  await second.goto(`${flower.url}/settings`);
  await expect(second.getByRole("list", { name: "Tokens" })).toContainText("nightly");
  await tokens.getByRole("button", { name: "Revoke the token of nightly" }).click();
  await page.getByRole("button", { name: "Revoke it" }).click();
  await expect(second.getByRole("region", { name: "Tokens" })).toContainText("No agent has a token");
  expect(await asked()).toBe(401);
});

test("rules are read; where there are none, a proposal is edited and brought to MAIN", async ({ page, flower }) => {
  await flower.open(page, "/settings");
  const rules = page.getByRole("region", { name: "Rules of shop" });
  await expect(rules).toContainText("! grep -rq broken src");
  await expect(rules).toContainText("approved");
  await expect(rules.getByRole("textbox")).toHaveCount(0);
  await look(page, "settings");
  await expectNoSeriousFindings(page);
  // Taken out by a landing, as everything.
  flower.run("worktree", "new", "bare", "--linked");
  const bare = flower.run("worktree", "path", "bare").trim();
  rmSync(join(bare, "flower.toml"));
  flower.git("-C", bare, "commit", "--quiet", "--all", "--message", "Without rules");
  flower.run("land", "bare");
  flower.run("queue", "approve", "1");
  await expect(rules).toContainText("nothing is checked before it reaches MAIN");
  const text = rules.getByRole("textbox", { name: /A first flower.toml/ });
  await text.fill('[checks]\nok = { run = "true" }\n');
  await rules.getByRole("button", { name: "Queue it for MAIN" }).click();
  await expect(page).toHaveURL(/\/landing\/2$/);
  await page.getByRole("button", { name: "Approve landing 2" }).click();
  await expect(page.locator("main")).toContainText("landed");
  await page.goto(`${flower.url}/settings`);
  await expect(rules).toContainText("check ok: true");
});

test("a project is removed and is as it was; the doctor looks", async ({ page, flower }) => {
  flower.project("annex");
  await flower.open(page, "/settings");
  await page.keyboard.press("d");
  const doctor = page.getByRole("region", { name: "Doctor" });
  await expect(doctor.getByText("jail", { exact: true })).toBeVisible();
  await expect(doctor).toContainText("No problems found.");
  const hook = join(flower.root, "annex/.git/hooks/reference-transaction");
  expect(existsSync(hook)).toBe(true);
  await page.getByRole("button", { name: "Remove annex" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByRole("button", { name: "Remove annex" })).toBeHidden();
  await expect(page.getByText("annex is removed")).toBeVisible();
  expect(existsSync(hook)).toBe(false);
  await expect(page.getByRole("button", { name: "Remove shop" })).toBeVisible();
});
