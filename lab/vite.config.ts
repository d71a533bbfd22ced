import { defineConfig } from "vite";

export default defineConfig({
  // The folder is served from any path: by `forebay lab`, and as a part of the documentation.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { outDir: "dist", target: "es2023", assetsInlineLimit: 0, sourcemap: false },
  worker: { format: "es" },
});
