// Routes in the fragment of the address: `#/lab?s=…`.

import { signal } from "@preact/signals";

export interface Route {
  /** The parts of the path: `["story", "flood", "2"]`. */
  path: string[];
  parameters: URLSearchParams;
}

/** Reads a fragment. Anything that is no path is the home page. */
export function parseRoute(hash: string): Route {
  const text = hash.startsWith("#/") ? hash.slice(2) : "";
  const [path = "", query = ""] = split(text, "?");
  const parts = path.split("/").filter(it => it !== "");
  return { path: parts.map(decoded), parameters: new URLSearchParams(query) };
}

function split(text: string, at: string): [string, string] {
  const place = text.indexOf(at);
  return place < 0 ? [text, ""] : [text.slice(0, place), text.slice(place + 1)];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>(parseRoute(location.hash));
addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash);
});
