import { expectNoSeriousFindings } from "./axe";
import type { Page } from "@playwright/test";
import { expect, look, test, type Flower } from "./flower";

/** Two repositories, each with a brief and a worktree. */
function both(flower: Flower): void {
  flower.project("yard");
  flower.brief("Paint the door");
  flower.brief("Oil the car", "", "--project", "yard");
  flower.run("worktree", "new", "door-lane");
  flower.run("worktree", "new", "car-lane", "--project", "yard");
}

const row = (page: Page, title: string) => page.getByRole("listitem").filter({ hasText: title });
const rail = (page: Page) => page.getByRole("navigation", { name: "flower" }).getByRole("combobox");
const palette = (page: Page) => page.getByRole("combobox", { name: "Search and commands" });

test("list and board show one project, the other, or both with their names", async ({ page, flower }) => {
  both(flower);
  await flower.open(page, "/briefs");
  const chosen = page.getByRole("search").getByLabel("Project");
  for (const view of ["List", "Board"]) {
    await page.getByRole("button", { name: view }).click();
    await chosen.selectOption("shop");
    await expect(row(page, "Paint the door")).toBeVisible();
    await expect(row(page, "Oil the car")).toBeHidden();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(/Briefs\s*1$/);
    await chosen.selectOption("yard");
    await expect(row(page, "Oil the car")).toBeVisible();
    await expect(row(page, "Paint the door")).toBeHidden();
    await page.getByRole("searchbox", { name: "Search briefs" }).fill("door");
    await expect(page.getByText("Nothing found for")).toBeVisible();
    await page.getByRole("searchbox", { name: "Search briefs" }).fill("");
    await chosen.selectOption("All projects");
    await expect(row(page, "Oil the car")).toContainText("yard");
    await expect(row(page, "Paint the door")).toContainText("shop");
    for (const width of [390, 800, 1200, 1440, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      const over = await page.locator("main").evaluate((main) => main.scrollWidth - main.clientWidth);
      expect(over, `${view} at ${width} px`).toBe(0);
      await expect(row(page, "Oil the car").getByText("yard")).toBeVisible();
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await look(page, `projects-${view}`);
  }
});

test("switching projects leaves nothing of the first one", async ({ page, flower }) => {
  both(flower);
  await flower.open(page, "/briefs");
  await page.keyboard.press("Control+k");
  await palette(page).fill("lane");
  await expect(page.getByRole("option", { name: /door-lane/ })).toBeVisible();
  await expect(page.getByRole("option", { name: /car-lane/ })).toBeHidden();
  await page.keyboard.press("Escape");

  // What was read before must not stand in for what is still to come.
  await page.route("**/api/worktrees?project=yard", () => undefined);
  await rail(page).selectOption("yard");
  await expect(row(page, "Oil the car")).toBeVisible();
  await expect(row(page, "Paint the door")).toBeHidden();
  await page.keyboard.press("Control+k");
  await palette(page).fill("lane");
  await expect(page.getByText("Nothing found for")).toBeVisible();
  await page.keyboard.press("Escape");
  await page.unroute("**/api/worktrees?project=yard");
  await page.reload();
  await expect(rail(page)).toHaveValue("yard");
  await page.keyboard.press("Control+k");
  await palette(page).fill("lane");
  await expect(page.getByRole("option", { name: /car-lane/ })).toBeVisible();
  await expect(page.getByRole("option", { name: /door-lane/ })).toBeHidden();
  await palette(page).fill("door");
  await expect(page.getByRole("option", { name: /Paint the door/ })).toContainText("#1 · shop");
});

test("a new brief belongs to the project that is looked at, unless told otherwise", async ({ page, flower }) => {
  both(flower);
  await flower.open(page, "/briefs");
  const dialog = page.getByRole("dialog", { name: "New brief" });
  const projectOf = (number: number) =>
    flower
      .json<{ projects: { name: string }[] }>("brief", "show", String(number))
      .projects.map((project) => project.name);
  await page.keyboard.press("c");
  await expect(dialog.getByLabel("Project")).toHaveValue("shop");
  await dialog.getByLabel("Title").fill("Wash the car");
  await dialog.getByLabel("Project").selectOption("yard");
  await dialog.getByRole("button", { name: "Create brief" }).click();
  await expect(page).toHaveURL(/\/briefs\/3$/);
  expect(projectOf(3)).toEqual(["yard"]);
  await page.keyboard.press("c");
  await expect(dialog.getByLabel("Project")).toHaveValue("shop");
  await page.keyboard.press("Escape");
  await rail(page).selectOption("yard");
  await page.getByRole("button", { name: "Rename" }).focus();
  await page.keyboard.press("c");
  await expect(dialog.getByLabel("Project")).toHaveValue("yard");
});

test("the trace is one project's as it happens, all of it, or a brief's", async ({ page, flower }) => {
  both(flower);
  await flower.open(page, "/trace");
  await expect(row(page, "Paint the door")).toBeVisible();
  await expect(row(page, "Oil the car")).toBeHidden();
  await rail(page).selectOption("yard");
  await expect(row(page, "Oil the car")).toBeVisible();
  await expect(row(page, "car-lane").first()).toBeVisible();
  await expect(row(page, "Paint the door")).toBeHidden();
  flower.run("brief", "note", "1", "red it is");
  flower.run("brief", "note", "2", "with the good oil");
  await expect(row(page, "with the good oil")).toBeVisible();
  await expect(row(page, "red it is")).toBeHidden();
  const chosen = page.getByRole("search").getByLabel("Project");
  await expect(chosen).toHaveValue("yard");
  await chosen.selectOption("All projects");
  await expect(row(page, "red it is")).toBeVisible();
  await expect(row(page, "with the good oil")).toBeVisible();
  await page.reload();
  await expect(chosen).toHaveValue("*");
  await expect(row(page, "Paint the door")).toBeVisible();
  await look(page, "projects-trace");
  await page.getByRole("textbox", { name: "Brief" }).fill("2");
  await page.keyboard.press("Enter");
  await expect(row(page, "Oil the car")).toBeVisible();
  await expect(row(page, "Paint the door")).toBeHidden();
});

test("the project switch and the palette are reachable on a phone", async ({ page, flower }) => {
  both(flower);
  await page.setViewportSize({ width: 390, height: 844 });
  await flower.open(page, "/briefs");
  await expect(row(page, "Paint the door")).toBeVisible();
  await rail(page).selectOption("yard");
  await expect(row(page, "Oil the car")).toBeVisible();
  await expect(row(page, "Paint the door")).toBeHidden();
  await look(page, "phone");
  await page.getByRole("link", { name: "Worktrees" }).click();
  for (const [project, here, elsewhere] of [
    ["shop", "door-lane", "car-lane"],
    ["yard", "car-lane", "door-lane"],
    ["shop", "door-lane", "car-lane"],
  ] as const) {
    await rail(page).selectOption(project);
    await expect(page.getByRole("link", { name: here }).first()).toBeVisible();
    await expect(page.getByRole("link", { name: elsewhere })).toHaveCount(0);
  }
  await expectNoSeriousFindings(page);
  await page.getByRole("button", { name: "Search" }).click();
  await palette(page).fill("trace");
  await page.getByRole("option", { name: /Trace/ }).first().click();
  await expect(page.getByRole("heading", { name: "Trace", level: 1 })).toBeInViewport();
  await expect(page.getByRole("link", { name: "Landing" })).toBeInViewport();
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(over).toBeLessThanOrEqual(0);
});

test("a worktree of another project is the one that opens, though this one has a namesake", async ({
  page,
  flower,
}) => {
  flower.project("yard");
  for (const [key, value] of [
    ["user.name", "Mike"],
    ["user.email", "mike@example.com"],
  ] as const)
    flower.git("-C", `${flower.root}/yard`, "config", key, value);
  const play = "write oil.txt theirs\ncommit Oil it\nhang";
  const number = flower.brief("Oil the car", `# Oil\n\n\`\`\`play\n${play}\n\`\`\`\n`, "--project", "yard");
  flower.run("brief", "accept", String(number));
  flower.run("dispatch", String(number), "--agent", "play");
  flower.run("worktree", "new", "b1-oil-the-car", "--lane", "--linked", "--project", "shop");
  await flower.open(page, "/agents/play-1");
  await expect(rail(page)).toHaveValue("shop");
  const theirs = async () => {
    await expect(page.getByRole("heading", { name: "b1-oil-the-car", level: 1 })).toBeVisible();
    await expect(page).toHaveURL(/project=yard/);
    await expect(page.getByRole("region", { name: "oil.txt" })).toContainText("theirs");
    await expect(page.getByText("/worktrees/yard/b1-oil-the-car")).toBeVisible();
    await expect(rail(page)).toHaveValue("shop");
  };
  const link = page.getByRole("link", { name: "b1-oil-the-car", exact: true });
  await link.first().click();
  await theirs();
  await look(page, "projects-worktree");
  // Tabs stay with it, and so does what is done with it.
  await page.getByRole("link", { name: /Commits/ }).click();
  await page.getByRole("link", { name: "Oil it", exact: true }).click();
  await expect(page.getByRole("region", { name: "oil.txt" })).toContainText("theirs");
  flower.run("freeze", "not yet", "--project", "yard");
  await page.getByRole("button", { name: "Land", exact: true }).click();
  await page.getByRole("button", { name: "Queue the landing" }).click();
  await expect(page).toHaveURL(/\/landing\/1$/);
  expect(flower.json<{ project: string }>("queue", "show", "1").project).toBe("yard");
  await link.first().click();
  await theirs();
  await page.goto(`${flower.url}/briefs/${number}`);
  for (const place of ["Dispatches", "Participants", "Links"]) {
    const region = page.getByRole("region", { name: place }).or(page.getByRole("list", { name: place }));
    await expect(region.getByRole("link", { name: "b1-oil-the-car" }).first()).toHaveAttribute("href", /project=yard/);
  }
  // Its list is its own project's.
  await link.first().click();
  await page.getByRole("main").getByRole("link", { name: "Worktrees" }).click();
  await expect(rail(page)).toHaveValue("yard");
  await expect(page.getByRole("row", { name: /b1-oil-the-car/ })).toContainText("play-1");
});
