import { defineConfig, type Plugin } from "vite";
import { stories } from "./stories-plugin.ts";

// `python/forebay/lab/server.py` has the same policy for the header, with what only a header can say.
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

// Not while developing: Vite's client puts styles into the page.
const policy: Plugin = {
  name: "content-security-policy",
  apply: "build",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: POLICY }, injectTo: "head-prepend" },
  ],
};

export default defineConfig({
  // The folder is served from any path: by `forebay lab`, and as a part of the documentation.
  base: "./",
  plugins: [policy, stories()],
  // Examples and the schema are files of the repository.
  server: { fs: { allow: [".."] } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { outDir: "dist", target: "es2023", assetsInlineLimit: 0, sourcemap: false },
  worker: { format: "es" },
});
