//! Which language a file is written in, and the reader of it. Each reader is loaded when a file needs it.
import type { Parser } from "@lezer/common";
import type { StreamParser } from "@codemirror/language";

export type Language = keyof typeof READERS;

const READERS = {
  rust: async () => (await import("@lezer/rust")).parser,
  javascript: async () => (await import("@lezer/javascript")).parser.configure({ dialect: "jsx" }),
  typescript: async () => (await import("@lezer/javascript")).parser.configure({ dialect: "ts" }),
  tsx: async () => (await import("@lezer/javascript")).parser.configure({ dialect: "ts jsx" }),
  python: async () => (await import("@lezer/python")).parser,
  go: async () => (await import("@lezer/go")).parser,
  java: async () => (await import("@lezer/java")).parser,
  cpp: async () => (await import("@lezer/cpp")).parser,
  css: async () => (await import("@lezer/css")).parser,
  html,
  json: async () => (await import("@lezer/json")).parser,
  markdown: async () => {
    const { GFM, parser } = await import("@lezer/markdown");
    return parser.configure(GFM);
  },
  sql: async () => (await import("@codemirror/lang-sql")).PostgreSQL.language.parser,
  yaml: async () => (await import("@lezer/yaml")).parser,
  php: async () => (await import("@lezer/php")).parser.configure({ top: "Program" }),
  shell: async () => streamed((await import("@codemirror/legacy-modes/mode/shell")).shell),
  toml: async () => streamed((await import("@codemirror/legacy-modes/mode/toml")).toml),
  docker: async () => streamed((await import("@codemirror/legacy-modes/mode/dockerfile")).dockerFile),
} satisfies Record<string, () => Promise<Parser>>;

/** With its scripts and styles. */
async function html(): Promise<Parser> {
  const [{ configureNesting, parser }, script, style] = await Promise.all([
    import("@lezer/html"),
    READERS.typescript(),
    READERS.css(),
  ]);
  const nested = configureNesting([
    { tag: "script", parser: script },
    { tag: "style", parser: style },
  ]);
  return parser.configure({ wrap: nested });
}

async function streamed<State>(mode: StreamParser<State>): Promise<Parser> {
  return (await import("@codemirror/language")).StreamLanguage.define(mode).parser;
}

const ENDINGS: Record<Language, string> = {
  rust: "rs",
  javascript: "js mjs cjs jsx",
  typescript: "ts mts cts",
  tsx: "tsx",
  python: "py pyi",
  go: "go",
  java: "java",
  cpp: "c h cc cpp cxx hh hpp hxx",
  css: "css scss less",
  html: "html htm svelte vue xml svg",
  json: "json jsonc json5",
  markdown: "md markdown",
  sql: "sql",
  yaml: "yaml yml",
  php: "php",
  shell: "sh bash zsh",
  toml: "toml",
  docker: "dockerfile",
};
const BY_ENDING = new Map(
  Object.entries(ENDINGS).flatMap(([language, endings]) =>
    endings.split(" ").map((end) => [end, language as Language]),
  ),
);
const BY_NAME = new Map<string, Language>([
  ["dockerfile", "docker"],
  ["cargo.lock", "toml"],
  [".bashrc", "shell"],
  [".profile", "shell"],
  [".prettierrc", "json"],
]);

export function languageOf(path: string): Language | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return BY_NAME.get(name) ?? (name.includes(".") ? BY_ENDING.get(name.slice(name.lastIndexOf(".") + 1)) : undefined);
}

/** Loaded readers, so that the next file of a language has its colours at once. */
const ready = new Map<Language, Parser>();

export function readerAtHand(language: Language): Parser | undefined {
  return ready.get(language);
}

export async function reader(language: Language): Promise<Parser> {
  const found = ready.get(language) ?? (await READERS[language]());
  ready.set(language, found);
  return found;
}
