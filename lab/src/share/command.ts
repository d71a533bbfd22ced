// The command that does in a shell what the lab shows.

import { entryOf, type Node, parse } from "../editor/toml";
import { fileStem, type Shared } from "./shared";

/** `forebay run NAME.toml …` or `forebay compare NAME.toml …`, quoted for a POSIX shell. */
export function commandOf(shared: Shared): string {
  const { text, queues, at, seed, overrides = [] } = shared;
  const file = `${fileStem(text)}.toml`;
  const settings = overrides.flatMap(([path, value]) => ["--set", `${path}=${bareValue(value)}`]);
  if (queues.length === 0) {
    const seeded = seed === undefined ? [] : ["--seed", String(seed)];
    return words("forebay", "run", file, ...seeded, ...settings);
  }
  const seeded = seed === undefined ? [] : ["--set", `seed=${seed}`];
  const place = at === undefined ? [] : ["--at", at];
  // One run of each, as in the lab. The default of the command line is three.
  return words("forebay", "compare", file, ...queueOptions(queues), ...place, ...settings, ...seeded, "--seeds", "1");
}

function queueOptions(queues: string[]): string[] {
  // A queue with parameters has commas of its own.
  return queues.every(queue => /^\w+$/.test(queue))
    ? ["--queues", queues.join(",")]
    : queues.flatMap(queue => ["--queue", queue]);
}

/** A value as after `--set KEY=`, which takes TOML, or text where that is no TOML: `"20 Mbps"` needs no quotes. */
function bareValue(value: string): string {
  const node = tomlValue(value);
  const isPlain =
    node?.kind === "scalar" && node.type === "string" && /^[\d.]+ ?[A-Za-z/]+$|^[a-z]\w*$/.test(node.value);
  // These would be read as TOML again.
  const isToml = isPlain && /^(true|false|inf|nan|\d+e\d*)$/i.test(node.value);
  return isPlain && !isToml ? node.value : value;
}

/** A TOML value on its own. */
export function tomlValue(value: string): Node | undefined {
  return entryOf(parse(`value = ${value}`).root, "value")?.node;
}

function words(...all: string[]): string {
  return all.map(quote).join(" ");
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
