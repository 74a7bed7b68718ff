import { expect, look, test } from "./flower";

const SPEC = `# A cart that keeps what is in it

**Problem:** whoever reloads the shop loses the cart.

## What should be done
- keep the cart in \`localStorage\`, for **30 days**
- show how many things are in it
- [ ] tell when something is not sold any more

| where | what |
|---|---|
| \`src/app.txt\` | the count |

\`\`\`play
write src/app.txt one\\ntwo\\nfour
commit Count the cart
question Should the count be shown when it is zero?
wait
hand-back Counted, with a test.
\`\`\`
`;

test("a brief as a whole", async ({ page, flower }) => {
  const needs = flower.brief("Prices in one place", "# Prices");
  const number = flower.brief("A cart that keeps what is in it", SPEC, "--needs", String(needs));
  flower.run("brief", "note", String(number), "See the **mail** of Monday.");
  await flower.open(page, `/briefs/${number}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("A cart that keeps what is in it");
  for (const name of [
    "Spec",
    "Dispatch",
    "Trace",
    "Relationships",
    "Participants",
    "Links",
    "Projects",
    "Agent’s-eye view",
  ])
    await expect(page.getByRole("heading", { name, level: 2 })).toBeVisible();
  await page.getByRole("button", { name: "Accept plan" }).click();
  await expect(page.getByRole("button", { name: /Status: planned/ })).toBeVisible();
  await look(page, "brief-planned");
  flower.run("brief", "needs", String(number), String(needs), "--drop");
  flower.run("dispatch", String(number), "--agent", "play");
  await expect(page.getByRole("form", { name: "Question 1" })).toBeVisible({ timeout: 20_000 });
  await look(page, "brief-asked");
});
