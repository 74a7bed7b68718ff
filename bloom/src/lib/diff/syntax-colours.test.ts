import { describe, expect, it } from "vitest";
import { coloursOf } from "./syntax-colours";
import { languageOf, reader, type Language } from "./languages";
import type { Hunk, Line } from "./parse-diff";

function hunk(...lines: string[]): Hunk {
  const kinds = { "+": "added", "-": "removed", " ": "same" } as const;
  const read = lines.map((line): Line => ({ kind: kinds[line[0] as "+"], text: line.slice(1) }));
  return { old: 1, new: 1, about: "", lines: read };
}

async function coloured(language: Language, ...lines: string[]): Promise<string[]> {
  const one = hunk(...lines);
  const colours = coloursOf([one], await reader(language));
  return one.lines.map((line) =>
    (colours.get(line) ?? []).map(([from, to, what]) => `${what}:${line.text.slice(from, to)}`).join(" "),
  );
}

describe("languages", () => {
  it("are known by the names of files", () => {
    expect(["src/a.rs", "A.TSX", "x/Dockerfile", "b.yml", "Cargo.lock"].map(languageOf)).toEqual([
      "rust",
      "tsx",
      "docker",
      "yaml",
      "toml",
    ]);
    expect(["rs", "README", "a.bin", "x/.gitignore"].map(languageOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  const samples: [Language, string, string][] = [
    ["rust", "let a = 1; // one", "keyword:let"],
    ["javascript", "const a = 'x';", "string:'x'"],
    ["typescript", "let a: string = b();", "type:string"],
    ["tsx", "const a = <B c={1} />;", "keyword:const"],
    ["python", "def f(): return None", "keyword:def"],
    ["go", "func f() { return 1 }", "keyword:func"],
    ["java", "class A { int b = 1; }", "keyword:class"],
    ["cpp", "int main() { return 0; }", "keyword:return"],
    ["css", "a { color: red; }", "type:a"],
    ["html", "<p class='x'>y</p>", "type:p"],
    ["json", '{ "a": 1 }', "value:1"],
    ["markdown", "# Title", "Title"],
    ["sql", "SELECT a FROM b", "keyword:SELECT"],
    ["yaml", "a: 1 # one", "comment:# one"],
    ["php", "function f() { return 1; }", "keyword:function"],
    ["shell", "if true; then echo 'x'; fi", "string:'x'"],
    ["toml", "a = 'x'", "string:'x'"],
    ["docker", "FROM debian", "FROM"],
  ];
  it.each(samples)("%s is coloured", async (language, text, expected) => {
    expect((await coloured(language, `+${text}`))[0]).toContain(expected);
  });
});

describe("colours", () => {
  it("are those of each side, and go on over lines", async () => {
    const [before, after, comment, rest] = await coloured(
      "rust",
      "-let a = 1;",
      '+let a = "x";',
      " /* one",
      " two */ fn",
    );
    expect(before).toBe("keyword:let value:1");
    expect(after).toBe('keyword:let string:"x"');
    expect(comment).toBe("comment:/* one");
    expect(rest).toBe("comment:two */ keyword:fn");
  });

  it("are left out for long files and long lines", async () => {
    const [long, short] = await coloured("rust", `+let a = "${"x".repeat(2_000)}";`, "+let b = 1;");
    expect(long).toBe("");
    expect(short).toBe("keyword:let value:1");
    const many = await coloured("rust", ...Array.from({ length: 3_001 }, () => "+let a = 1;"));
    expect(many[0]).toBe("");
  });
});
