import { sveltekit } from "@sveltejs/kit/vite";
import { svelteTesting } from "@testing-library/svelte/vite";
import { defineConfig } from "vitest/config";

const FLOWER = (process.env.FLOWER_URL ?? "http://127.0.0.1:4747").replace(/\/$/, "");

export default defineConfig({
  plugins: [sveltekit(), svelteTesting({ autoCleanup: false })],
  build: { target: "es2023", assetsInlineLimit: 0 },
  // `npm run dev` beside a daemon: `FLOWER_URL` is what `flower up` prints.
  server: { proxy: { "/api": { target: FLOWER, changeOrigin: true, headers: { origin: FLOWER } } } },
  test: {
    include: ["src/**/*.test.ts"],
    // For tests of components, which ask for `@vitest-environment happy-dom` and clean up after themselves.
    environmentOptions: { happyDOM: { url: "http://127.0.0.1:4747/" } },
  },
});
