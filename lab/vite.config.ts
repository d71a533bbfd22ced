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

// The engine is most of what a first visit loads. Otherwise the browser would hear of it from the script.
const preload: Plugin = {
  name: "preload-engine",
  apply: "build",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle = {} }) =>
      Object.keys(bundle)
        .filter(name => name.endsWith(".wasm"))
        .map(name => ({
          tag: "link",
          attrs: { rel: "preload", as: "fetch", type: "application/wasm", crossorigin: true, href: `./${name}` },
          injectTo: "head",
        })),
  },
};

export default defineConfig({
  // The folder is served from any path: by `forebay lab`, and as a part of the documentation.
  base: "./",
  plugins: [policy, preload, stories()],
  // Examples and the schema are files of the repository.
  server: { fs: { allow: [".."] } },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist",
    target: "es2023",
    assetsInlineLimit: 0,
    sourcemap: false,
    // It depends on how busy the machine is.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
  worker: { format: "es" },
});
