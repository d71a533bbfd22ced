import { defineConfig, type Plugin } from "vite";
import { stories } from "./stories-plugin.ts";

/** What the page may load: its own files. Its scripts compile the engine, and charts become pictures. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Puts the policy into the page that is built. The server of `npm run dev` needs inline scripts. */
function policy(): Plugin {
  return {
    name: "policy",
    apply: "build",
    transformIndexHtml: () => [
      { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: POLICY }, injectTo: "head-prepend" },
    ],
  };
}

export default defineConfig({
  // The folder is served from any path: by `forebay lab`, and as a part of the documentation.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // Examples and stories are imported from the repository.
  server: { fs: { allow: [".."] } },
  plugins: [policy(), stories()],
  build: { outDir: "dist", target: "es2023", assetsInlineLimit: 0, sourcemap: false },
  worker: { format: "es" },
});
