//! Pictures for the README. `cargo xtask pictures` plays the story and tells where it can be seen.
import { expect, test, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Each works once. */
const links = (process.env.FLOWER_LINKS ?? "").split(" ");
const into = process.env.FLOWER_PICTURES ?? ".screenshots";
const find = createRequire(import.meta.url).resolve;

test.use({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });

async function open(page: Page, path: string): Promise<void> {
  const link = new URL(links.pop()!);
  await page.goto(`${link.origin}${path}${link.hash}`);
  await expect(page.locator("[data-live=live]")).toBeVisible();
}

test("the stem", async ({ page }) => {
  await open(page, "/");
  await page.mouse.move(0, 0);
  const stem = page.getByRole("region", { name: "The stem" });
  await expect(stem).toBeVisible();
  await page.waitForTimeout(1_500);
  await stem.screenshot({ path: `${into}/stem.png` });
});

test("a brief", async ({ page }) => {
  await open(page, `/briefs/${process.env.FLOWER_BRIEF ?? 1}`);
  await expect(page.getByRole("heading", { name: "Trace" })).toBeVisible();
  await page.waitForTimeout(1_000);
  await page.screenshot({ path: `${into}/brief.png` });
});

test("the terminal", async ({ page }) => {
  const said = readFileSync(process.env.FLOWER_TERMINAL ?? "/dev/null", "utf8");
  const rows = said.split("\n").length + 1;
  await page.setContent(`<div id="terminal" style="display: inline-block; padding: 16px; background: #1b1e1a"></div>`);
  await page.addStyleTag({ path: find("@xterm/xterm/css/xterm.css") });
  await page.addScriptTag({ path: find("@xterm/xterm/lib/xterm.js") });
  await page.evaluate(
    ([text, rows]) => {
      const { Terminal } = window as unknown as { Terminal: typeof import("@xterm/xterm").Terminal };
      const theme = {
        background: "#1b1e1a",
        foreground: "#e7e8e2",
        green: "#85c896",
        red: "#f19488",
        yellow: "#e0b65c",
      };
      const terminal = new Terminal({
        cols: 112,
        rows,
        theme,
        fontSize: 14,
        convertEol: true,
        cursorInactiveStyle: "none",
      });
      terminal.open(document.getElementById("terminal")!);
      terminal.write(text + "\x1b[?25l");
    },
    [said, rows] as const,
  );
  await page.waitForTimeout(800);
  await page.locator("#terminal").screenshot({ path: `${into}/terminal.png` });
});
