import adapter from "@sveltejs/adapter-static";

/** One shell for every address; flower serves it and fills in nothing. */
export default {
  kit: {
    adapter: adapter({ pages: "build", assets: "build", fallback: "shell.html", precompress: true, strict: true }),
    // Every address that is not a file is the shell, at any depth, so that its assets are named from the root.
    paths: { relative: false },
    version: { name: "bloom" },
    files: { assets: "static" },
  },
  compilerOptions: { runes: true },
};
