import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import { defineConfig } from "eslint/config";
import globals from "globals";
import ts from "typescript-eslint";
import svelteConfig from "./svelte.config.js";

/** `npm run check` runs it. Layout is prettier's, types are svelte-check's; this looks for mistakes neither of them finds. */
export default defineConfig(
  { ignores: ["build/", ".svelte-kit/", "test-results/", ".screenshots/", "src/lib/schema.d.ts"] },
  js.configs.recommended,
  ts.configs.recommended,
  svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      // TypeScript finds names that are not defined, and knows the types of the platform.
      "no-undef": "off",
      "@typescript-eslint/consistent-type-imports": ["error", { disallowTypeAnnotations: false }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // The page is always served from the root of its host.
      "svelte/no-navigation-without-resolve": "off",
      // `{" "}` keeps a space at the end of an element.
      "svelte/no-useless-mustaches": "off",
      // Collections are built, then replaced as a whole (`$state.raw`); none is changed while it is shown.
      "svelte/prefer-svelte-reactivity": "off",
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { extraFileExtensions: [".svelte"], parser: ts.parser, svelteConfig } },
  },
  {
    files: ["src/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "CallExpression[callee.property.name='click'][arguments.length=0]",
          message: "Call the handler instead of clicking an element: a restyle must not break a shortcut.",
        },
      ],
    },
  },
);
