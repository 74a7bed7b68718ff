import { describe, expect, it } from "vitest";
import { parseDiff } from "./parse-diff";
import { isInDiff, isSameLine, parsePosition } from "./comment-position";

const FILES = parseDiff(`diff --git a/src/a.rs b/src/a.rs
index 111..222 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,3 +10,3 @@
 same
-before
+after
 same
diff --git a/src/new.rs b/src/new.rs
new file mode 100644
--- /dev/null
+++ b/src/new.rs
@@ -0,0 +1,1 @@
+only
`);

describe("the line of a comment", () => {
  it.each([
    ["src/a.rs|new:11", true],
    ["src/a.rs|old:11", true],
    ["src/a.rs|new:10", true],
    // It can be unfolded.
    ["src/a.rs|new:80", true],
    // Before the change it stood there, and still does: nothing of it was removed.
    ["src/a.rs|old:10", false],
    ["src/new.rs|new:1", true],
    ["src/new.rs|new:2", false],
    ["src/gone.rs|new:1", false],
  ])("%s is among the changes: %s", (at, is) => {
    expect(isInDiff(FILES, parsePosition(at))).toBe(is);
  });

  it("has a file of any name", () => {
    expect(parsePosition("odd|new:3|name.rs|old:12")).toEqual({ file: "odd|new:3|name.rs", side: "old", line: 12 });
  });

  it("is the same however lines end", () => {
    expect(isSameLine("one\r", "one")).toBe(true);
    expect(isSameLine("one", "one ")).toBe(false);
  });
});
