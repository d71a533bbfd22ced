// Names of sliders from the paths of their values.

import { splitPath } from "../editor/paths";

/** Keys that say too little without the one before them. */
const VAGUE = new Set([
  "rate",
  "limit",
  "delay",
  "count",
  "size",
  "length",
  "share",
  "start",
  "stop",
  "jitter",
  "mean",
]);

/** `flows.flood.transport.udp.constant.rate` is "flood: rate", `topology.star.bottleneck.rate` "Bottleneck rate". */
export function labelOf(path: string): string {
  const [first = "", second = "", ...rest] = splitPath(path);
  const last = rest.at(-1) ?? (second || first);
  if (first === "flows" && rest.length > 0) {
    return `${second}: ${words(last)}`;
  }
  const before = rest.at(-2) ?? (first === "topology" ? "" : second && first);
  const isIndex = /^\d+$/.test(last);
  const lead = before && (VAGUE.has(last) || isIndex) ? `${words(before)} ` : "";
  const label = lead + words(last);
  return label.charAt(0).toUpperCase() + label.slice(1);
}

function words(key: string): string {
  return key.replaceAll("_", " ");
}
