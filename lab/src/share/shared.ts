// A scenario that someone hands on, with what the lab shows of it.

import { entryOf, parse } from "../editor/toml";
import type { Override } from "../engine/protocol";

export interface Shared {
  /** The scenario as TOML. */
  text: string;
  /** Disciplines that are compared, as `forebay compare --queue` takes them; empty for a single run. */
  queues: string[];
  /** The path of the queue that they replace. Default: the bottleneck's. */
  at?: string | undefined;
  /** The seed in place of the scenario's: up to 2^64 - 1, beyond the integers of a number. */
  seed?: number | bigint | undefined;
  /** Values that replace those of the text. */
  overrides?: Override[] | undefined;
}

/** The queues of a comparison. Where the scenario runs as it is written (undefined), its discipline has `written` as
 *  its name: a comparison keeps the parameters that the scenario gives to it. */
export function queuesOf(contenders: readonly (string | undefined)[], written: string | undefined): string[] {
  const isSingle = contenders.length === 1 && contenders[0] === undefined;
  return isSingle ? [] : [...new Set(contenders.map(it => it ?? written ?? "drop_tail"))];
}

/** A text of the root of a scenario, such as `name`. */
export function rootText(text: string, key: string): string | undefined {
  const node = entryOf(parse(text).root, key)?.node;
  return node?.kind === "scalar" && node.type === "string" && node.value.trim() !== "" ? node.value : undefined;
}

/** Names that Windows reserves for devices. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

/** A file's name without its ending, from the scenario's name: letters, digits, `-`, `_` and `.`. */
export function fileStem(text: string): string {
  const name = rootText(text, "name") ?? "scenario";
  const plain = name
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 60);
  return plain === "" || DEVICES.test(plain) ? "scenario" : plain;
}
