//! Makes a worktree with changes for tests.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Flower } from "./flower";

/** A worktree in which a script has run and everything is committed. */
export function made(flower: Flower, script: string): void {
  const file = join(flower.root, "make.sh");
  writeFileSync(file, script);
  flower.run("worktree", "new", "lane", "--lane", "--linked");
  const tree = flower.run("worktree", "path", "lane").trim();
  flower.git("-C", tree, "-c", `alias.make=!sh ${file}`, "make");
  flower.git("-C", tree, "add", "--all");
  flower.git("-C", tree, "commit", "--quiet", "--message", "Change it");
}
