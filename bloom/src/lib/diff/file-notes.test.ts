import { expect, it } from "vitest";
import { fileNotes } from "./file-notes";
import { parseDiff } from "./parse-diff";

const said = (text: string) => parseDiff(text).map((file) => fileNotes(file).join(" "));

it("says what became of a file beyond its lines", () => {
  expect(
    said(`diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/way b/way
new file mode 120000
index 0000000..8d1c8b6
--- /dev/null
+++ b/way
@@ -0,0 +1 @@
+src
\\ No newline at end of file
diff --git a/logo.png b/logo.png
new file mode 100644
index 0000000..1
Binary files /dev/null and b/logo.png differ
diff --git a/hollow b/hollow
index 1..e69de29 100644
--- a/hollow
+++ b/hollow
@@ -1,2 +0,0 @@
-one
-two
diff --git a/one b/two
similarity index 100%
rename from one
rename to two
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git a/gone b/gone
deleted file mode 100644
index e69de29..0000000
`),
  ).toEqual([
    "It was an ordinary file, and is a file that can be run.",
    "It is a symbolic link; what is shown is where it leads.",
    "It is a binary file; its changes are not shown.",
    "Nothing is left in it; the file itself stays.",
    "Only its name changed.",
    "It is empty.",
    "It was empty.",
  ]);
});

it("says nothing of a file that is as files are", () => {
  expect(
    said(`diff --git a/f b/f
index 1..2 100644
--- a/f
+++ b/f
@@ -1 +1 @@
-a
+b
`),
  ).toEqual([""]);
});
