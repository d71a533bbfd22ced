// Numbers of a scenario as texts: bare, or quoted with a unit.

/** Units by their dimension, and what they are worth in the smallest one. As in `crates/units`, which refuses fractions
 *  of the smallest unit. */
const UNITS: Record<string, [dimension: string, worth: number]> = {};

function add(dimension: string, worth: number, ...spellings: string[]): void {
  for (const spelling of spellings) {
    UNITS[spelling] = [dimension, worth];
  }
}

add("time", 1e12, "s", "sec", "second", "seconds");
add("time", 1e9, "ms");
add("time", 1e6, "us", "µs", "μs");
add("time", 1e3, "ns");
add("time", 1, "ps");
add("time", 60e12, "min");
add("time", 3600e12, "h");
for (const [prefix, worth] of [
  ["T", 1e12],
  ["G", 1e9],
  ["M", 1e6],
  ["k", 1e3],
  ["K", 1e3],
  ["", 1],
] as const) {
  add("rate", worth, `${prefix}bps`, `${prefix}b/s`, `${prefix}bit/s`);
}
add("size", 1, "B", "byte", "bytes");
add("size", 1e3, "KB", "kB");
add("size", 1e6, "MB");
add("size", 1e9, "GB");
add("size", 2 ** 10, "KiB");
add("size", 2 ** 20, "MiB");
add("size", 2 ** 30, "GiB");
add("packets", 1, "packets", "packet", "pkts");

/** A number as it is written. */
export interface Written {
  number: number;
  unit: string;
  /** Whether a bare number is an integer, or a unit has no fractions. */
  isIntegral: boolean;
}

const BARE = /^[+-]?(\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d[\d_]*)?|0x[\da-fA-F_]+|0o[0-7_]+|0b[01_]+)$/;
const QUOTED = /^("""|'''|"|')(\s*)([0-9][0-9._]*|\.[0-9][0-9_]*)(\s*)([A-Za-zµμ/]*)(\s*)\1$/;

/** Reads a number of a scenario with its quotes: `0.5`, `"10 Mbps"`. */
export function readNumber(text: string): Written | undefined {
  if (BARE.test(text)) {
    const digits = text.replaceAll("_", "");
    const sign = digits.startsWith("-") ? -1 : 1;
    const number = sign * Number(digits.replace(/^[+-]/, ""));
    return Number.isFinite(number) ? { number, unit: "", isIntegral: !isFloat(text) } : undefined;
  }
  const parts = QUOTED.exec(text);
  if (!parts) {
    return undefined;
  }
  const unit = parts[5] ?? "";
  const number = Number((parts[3] ?? "").replaceAll("_", ""));
  return Number.isFinite(number) ? { number, unit, isIntegral: UNITS[unit]?.[1] === 1 } : undefined;
}

function isFloat(text: string): boolean {
  return !/^[+-]?0[xob]/.test(text) && /[.eE]/.test(text);
}

/** Reads a bound such as `5 Mbps`, with quotes or without, as a number of `unit`. */
export function readBound(text: string, unit: string): number | undefined {
  const bare = text.trim();
  const read = readNumber(bare) ?? readNumber(`"${bare}"`);
  if (!read || read.unit === unit) {
    return read?.number;
  }
  const [from, to] = [UNITS[read.unit], UNITS[unit]];
  return from && to && from[0] === to[0] ? rounded((read.number * from[1]) / to[1]) : undefined;
}

/** Removes the noise of binary arithmetic. */
export function rounded(number: number): number {
  return Number(number.toPrecision(12));
}

/** The nearest number that the unit can express: whole packets, at most three decimals of KiB. */
export function expressible(number: number, unit: string): number {
  const worth = UNITS[unit]?.[1];
  if (worth === undefined) {
    return rounded(number);
  }
  const isBinary = Math.log2(worth) % 10 === 0 && worth > 1;
  const parts = isBinary ? 8 : worth;
  return parts === 1 ? Math.round(number) : rounded(Math.round(number * parts) / parts);
}

/** Writes a number without an exponent. */
export function plain(number: number): string {
  const short = String(number);
  if (!short.includes("e")) {
    return short;
  }
  if (Math.abs(number) >= 1e21) {
    return BigInt(number).toString();
  }
  const [digits = "", exponent = ""] = Math.abs(number).toExponential().split("e-");
  const bare = digits.replace(".", "");
  return `${number < 0 ? "-" : ""}0.${"0".repeat(Number(exponent) - 1)}${bare}`;
}

/** Writes `number` in place of the number in `text`, which keeps its unit, quotes and spaces. A float stays one. */
export function writeNumber(text: string, number: number, isIntegral: boolean): string | undefined {
  const before = readNumber(text);
  if (!before || !Number.isFinite(number)) {
    return undefined;
  }
  const parts = QUOTED.exec(text);
  if (parts) {
    const written = plain(Math.max(0, expressible(number, before.unit)));
    return `${parts[1]}${parts[2]}${written}${parts[4]}${parts[5]}${parts[6]}${parts[1]}`;
  }
  const written = plain(isIntegral ? Math.round(number) : rounded(number));
  return isFloat(text) && !written.includes(".") ? `${written}.0` : written;
}
