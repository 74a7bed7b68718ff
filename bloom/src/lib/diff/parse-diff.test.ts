import { describe, expect, it } from "vitest";
import { parseDiff, unquoted } from "./parse-diff";

const CHANGED = `diff --git a/src/app.txt b/src/app.txt
index 4cb29ea..f04eb26 100644
--- a/src/app.txt
+++ b/src/app.txt
@@ -1,3 +1,3 @@ fn main
 one
-two
+2
 three
`;

describe("a diff", () => {
  it("is read with its lines and their numbers", () => {
    const [file, ...more] = parseDiff(CHANGED);
    expect(more).toEqual([]);
    expect(file).toMatchObject({ path: "src/app.txt", change: "changed", binary: false, added: 1, removed: 1 });
    expect(file?.from).toBeUndefined();
    expect(file?.hunks[0]?.about).toBe("fn main");
    expect(file?.hunks[0]?.lines).toEqual([
      { kind: "same", text: "one", old: 1, new: 1 },
      { kind: "removed", text: "two", old: 2 },
      { kind: "added", text: "2", new: 2 },
      { kind: "same", text: "three", old: 3, new: 3 },
    ]);
  });

  it("of nothing has no files", () => {
    expect(parseDiff("")).toEqual([]);
    expect(parseDiff("warning: something\n")).toEqual([]);
  });

  it("knows new and deleted files", () => {
    const files = parseDiff(`diff --git a/new b/new
new file mode 100755
index 0000000..0e2f46c
--- /dev/null
+++ b/new
@@ -0,0 +1,2 @@
+hi
+there
diff --git a/old b/old
deleted file mode 100644
index 0e2f46c..0000000
--- a/old
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
`);
    expect(files.map((file) => [file.path, file.change, file.added, file.removed])).toEqual([
      ["new", "added", 2, 0],
      ["old", "deleted", 0, 1],
      ["empty", "added", 0, 0],
    ]);
    expect(files.every((file) => file.from === undefined)).toBe(true);
  });

  it("knows renames, with and without changes, and copies", () => {
    const files = parseDiff(`diff --git a/a b/one.txt b/c d/two.txt
similarity index 90%
rename from a b/one.txt
rename to c d/two.txt
index 1..2 100644
--- a/a b/one.txt\t
+++ b/c d/two.txt\t
@@ -1 +1 @@
-x
+y
diff --git a/k b/l
similarity index 100%
copy from k
copy to l
`);
    expect(files[0]).toMatchObject({ path: "c d/two.txt", from: "a b/one.txt", change: "renamed", added: 1 });
    expect(files[1]).toMatchObject({ path: "l", from: "k", change: "copied", hunks: [] });
  });

  it("knows binary files and modes", () => {
    const files = parseDiff(`diff --git a/logo file.png b/logo file.png
index 1..2 100644
Binary files a/logo file.png and b/logo file.png differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
`);
    expect(files[0]).toMatchObject({ path: "logo file.png", binary: true });
    expect(files[1]).toMatchObject({ path: "run.sh", modes: ["100644", "100755"], hunks: [] });
  });

  it("says where a line break is missing", () => {
    const [file] = parseDiff(`diff --git a/f b/f
--- a/f
+++ b/f
@@ -1 +1 @@
-x
\\ No newline at end of file
+x
`);
    expect(file?.hunks[0]?.lines).toEqual([
      { kind: "removed", text: "x", old: 1, open: true },
      { kind: "added", text: "x", new: 1 },
    ]);
  });

  it("is not fooled by lines that look like titles", () => {
    const [file, ...more] = parseDiff(`diff --git a/f.sql b/f.sql
--- a/f.sql
+++ b/f.sql
@@ -1,2 +1,2 @@
--- a comment
+++ b/other
 diff --git a/x b/x
@@ -9 +9 @@ later
-a
+b
`);
    expect(more).toEqual([]);
    expect(file?.path).toBe("f.sql");
    expect(file?.hunks.map((hunk) => hunk.lines.length)).toEqual([3, 2]);
    expect(file?.hunks[0]?.lines[1]).toEqual({ kind: "added", text: "++ b/other", new: 1 });
  });

  it("reads quoted names", () => {
    const [file] = parseDiff(`diff --git "a/gr\\303\\274n \\"x\\".txt" "b/gr\\303\\274n \\"x\\".txt"
new file mode 100644
--- /dev/null
+++ "b/gr\\303\\274n \\"x\\".txt"
@@ -0,0 +1 @@
+x
`);
    expect(file?.path).toBe('grün "x".txt');
    expect(file?.from).toBeUndefined();
    expect(unquoted('"a\\tb\\\\"')).toBe("a\tb\\");
    expect(unquoted("plain")).toBe("plain");
  });
});
