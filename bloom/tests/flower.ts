//! A flower of its own for each test: a home, a repository and a daemon, all real.
import { expect, test as base, type Page } from "@playwright/test";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const PROGRAM = resolve(process.env.FLOWER_BIN ?? "../target/debug/flower");

/** Checks that take no time, and agents that play what their brief says. */
const SETTINGS = `[checks]
ok = { run = "! grep -rq broken src" }
[land]
retries = 0
[agents]
max = 6
`;

export class Flower {
  readonly root = mkdtempSync(join(tmpdir(), "bloom-"));
  readonly home = join(this.root, "home");
  readonly repo = join(this.root, "shop");
  url = "";
  private port = 0;
  private daemon: ChildProcess | undefined;

  constructor() {
    if (!existsSync(PROGRAM)) throw new Error(`no flower at ${PROGRAM}: build it, or set FLOWER_BIN`);
    mkdirSync(this.home);
    mkdirSync(this.repo);
    this.write("src/app.txt", "one\ntwo\nthree\n");
    this.write("flower.toml", SETTINGS);
    this.git("init", "--quiet", "--initial-branch=main");
    this.git("config", "user.name", "Mike");
    this.git("config", "user.email", "mike@example.com");
    this.git("add", ".");
    this.git("commit", "--quiet", "--message", "The shop opens");
    writeFileSync(
      join(this.home, "config.toml"),
      `[agents.play]\nprotocol = "acp"\ncommand = ["${PROGRAM}", "scripted-agent"]\nany_of = []\n` +
        `[agents.sh]\nprotocol = "pty"\ncommand = ["sh"]\n`,
    );
  }

  private get env(): Record<string, string> {
    return { PATH: process.env.PATH ?? "", HOME: this.root, FLOWER_HOME: this.home, NO_COLOR: "1", USER: "mike" };
  }

  /** A file of MAIN's. */
  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.repo, path)), { recursive: true });
    writeFileSync(join(this.repo, path), text);
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.repo, env: this.env, encoding: "utf8", timeout: 20_000 });
  }

  /** A command of the operator's, and what it answers. */
  run(...args: string[]): string {
    return execFileSync(PROGRAM, args, { cwd: this.repo, env: this.env, encoding: "utf8", timeout: 60_000 });
  }

  json<T = Record<string, never>>(...args: string[]): T {
    return JSON.parse(this.run(...args, "--json")) as T;
  }

  /** Another repository that the same daemon serves. Commands reach it with `--project`. */
  project(name: string, settings = SETTINGS): void {
    const root = join(this.root, name);
    mkdirSync(root);
    writeFileSync(join(root, "flower.toml"), settings);
    this.git("-C", root, "init", "--quiet", "--initial-branch=main");
    this.git("-C", root, "add", ".");
    const author = ["-c", "user.name=Mike", "-c", "user.email=mike@example.com"];
    this.git("-C", root, ...author, "commit", "--quiet", "--message", "It opens");
    execFileSync(PROGRAM, ["init"], { cwd: root, env: this.env, timeout: 60_000, stdio: "ignore" });
    this.run("project", "approve", "--yes", "--project", name);
  }

  /** A brief with a spec; the agent `play` does what stands in its play block. */
  brief(title: string, spec = "", ...more: string[]): number {
    const file = join(this.root, `${Math.random().toString(36).slice(2)}.md`);
    writeFileSync(file, spec);
    const args = spec ? ["--spec", file, ...more] : more;
    return this.json<{ number: number }>("brief", "new", title, ...args).number;
  }

  /** A brief that an agent works on at once. */
  dispatched(title: string, play: string): number {
    const number = this.brief(title, `# ${title}\n\n\`\`\`play\n${play}\n\`\`\`\n`);
    this.run("brief", "accept", String(number));
    this.run("dispatch", String(number), "--agent", "play");
    return number;
  }

  /** Starts the daemon, on the same port as before. */
  async up(): Promise<void> {
    const args = ["up", "--foreground", ...(this.port ? ["--port", String(this.port)] : [])];
    this.daemon = spawn(PROGRAM, args, { cwd: this.repo, env: this.env, stdio: "ignore" });
    await expect.poll(() => this.answers(), { timeout: 20_000, intervals: [50] }).toBe(true);
    this.url = this.json<{ url: string }>("status").url.replace(/\/$/, "");
    this.port = Number(new URL(this.url).port);
    this.run("project", "approve", "--yes");
  }

  /** It serves, and knows the repository. Asked only once it listens: a command that finds no daemon would start one. */
  private async answers(): Promise<boolean> {
    try {
      const port = readFileSync(join(this.home, "port"), "utf8").trim();
      await fetch(`http://127.0.0.1:${port}/healthz`);
      return this.json<{ project: string | null }>("status").project !== null;
    } catch {
      return false;
    }
  }

  /** As a crash would. */
  async kill(): Promise<void> {
    const daemon = this.daemon;
    if (!daemon || daemon.exitCode !== null) return;
    const gone = new Promise((done) => daemon.once("exit", done));
    daemon.kill("SIGKILL");
    await gone;
  }

  /** As on a machine that hangs: connections stay open, and nothing comes. */
  hang(): void {
    this.daemon?.kill("SIGSTOP");
  }

  resume(): void {
    this.daemon?.kill("SIGCONT");
  }

  /** Opens a page as the operator, signed in by a link of its own. */
  async open(page: Page, path = "/"): Promise<void> {
    const link = new URL(this.json<{ open_url: string }>("up").open_url);
    await page.goto(`${this.url}${path}${link.hash}`);
    await expect(page.locator("[data-live=live]")).toBeVisible();
  }

  async close(): Promise<void> {
    this.resume();
    try {
      this.run("down");
    } catch {
      // It was killed by its test.
    }
    await this.kill();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 20 });
  }

  log(): string {
    const path = join(this.home, "daemon.log");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }
}

export const test = base.extend<{ flower: Flower }>({
  /** In every test the page sends requests to its own flower only. */
  context: async ({ context, flower }, use) => {
    const strange: string[] = [];
    context.on("request", (request) => {
      const address = new URL(request.url());
      if (/^(https?|wss?):$/.test(address.protocol) && address.origin !== flower.url) strange.push(request.url());
    });
    await use(context);
    expect(strange, "requests to another host").toEqual([]);
  },
  // eslint-disable-next-line no-empty-pattern -- playwright reads the names of fixtures from the pattern
  flower: async ({}, use) => {
    const flower = new Flower();
    await flower.up();
    await use(flower);
    await flower.close();
  },
});

/**
 * Pictures of a page for people to look at: two widths, light and dark, in an ignored folder. They take longer than most
 * tests, so that they are made on request only: `cargo xtask test --look`.
 */
export async function look(page: Page, name: string): Promise<void> {
  if (process.env.FLOWER_LOOK !== "1") return;
  const before = page.viewportSize();
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.screenshot({ path: `.screenshots/${name}-${width}-${scheme}.png` });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  if (before) await page.setViewportSize(before);
  await still(page);
}

/** Presses keys one right after the other, as a person does: the page may take its time to hear of them. */
export async function chord(page: Page, ...keys: string[]): Promise<void> {
  await Promise.all(keys.map((key) => page.keyboard.press(key)));
}

/** Colours of buttons change softly; until they have. */
export async function still(page: Page): Promise<void> {
  await page.evaluate(() =>
    Promise.allSettled(
      document.getAnimations().map((one) => (one instanceof CSSTransition ? one.finished : undefined)),
    ),
  );
}

export { expect };
