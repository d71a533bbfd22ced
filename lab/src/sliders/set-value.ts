// Changes one number of a scenario's text, and nothing else.

import { resolve } from "../editor/paths";
import { parse } from "../editor/toml";
import type { Value } from "../engine/protocol";
import { readNumber, writeNumber } from "./quantity";

/** The value where it is in `text`, which may have changed since `value` was found in it. */
export function locate(text: string, value: Pick<Value, "path" | "from" | "to" | "text">): Value | undefined {
  if (text.slice(value.from, value.to) === value.text && resolve(parse(text), value.path)?.from === value.from) {
    return valueAt(text, value.path, value.from, value.to);
  }
  return find(text, value.path);
}

/** The values where they are in `text` now. Those that it no longer has are left out, and those of `[lab]`. */
export function locateAll(text: string, values: readonly Value[]): Value[] {
  const present = values.filter(({ path }) => !path.startsWith("lab."));
  return present.map(value => locate(text, value)).filter(value => value !== undefined);
}

/** The number at a path as in an override: `flows.flood.transport.udp.constant.rate`. */
export function find(text: string, path: string): Value | undefined {
  const node = resolve(parse(text), path);
  return node?.kind === "scalar" && node.type !== "missing" ? valueAt(text, path, node.from, node.to) : undefined;
}

function valueAt(text: string, path: string, from: number, to: number): Value | undefined {
  const written = text.slice(from, to);
  const read = readNumber(written);
  return read && { path, from, to, text: written, number: read.number, unit: read.unit };
}

/** The text with `number` at the place of `value`, in the unit that is written there. An integer stays one, unless
 *  `isIntegral` says that the key takes fractions. A number that cannot be written (infinite, or the place is gone)
 *  leaves the text as it is. */
export function setValue(
  text: string,
  value: Pick<Value, "path" | "from" | "to" | "text">,
  number: number,
  isIntegral?: boolean,
): string {
  const at = locate(text, value);
  if (!at) {
    return text;
  }
  const written = writeNumber(at.text, number, isIntegral ?? readNumber(at.text)?.isIntegral ?? false);
  return written === undefined ? text : text.slice(0, at.from) + written + text.slice(at.to);
}
