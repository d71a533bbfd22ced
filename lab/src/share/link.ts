// A scenario in a link: `#/lab?s=1…`. The link is all there is; no server keeps anything.
//
// After the version, base64url of four bytes of CRC-32 and a DEFLATE stream. The stream holds a line of JSON with what
// is compared, and then the scenario. Whoever opens a link may have it from anyone: its size is limited while it is
// decompressed, and nothing of it is trusted.

import { deflateSync, Inflate } from "fflate";
import type { Override } from "../engine/protocol";
import type { Shared } from "./shared";

const VERSION = "1";

/** The longest scenario in a link, in bytes of UTF-8. */
export const MOST_BYTES = 256 * 1024;
/** The longest first line. */
const MOST_HEAD = 16 * 1024;
/** More characters can hold no scenario of that length: stored data grow by a third in base64. */
const MOST_CHARACTERS = 400_000;
/** Bytes decompressed at a time. Each can become 1032, so a bomb is noticed after 132 KB. */
const STEP = 128;

/** The part of a link behind `s=`, or why there is none. */
export type Encoded = { code: string; problem: undefined } | { code: undefined; problem: string };

export type Decoded = { shared: Shared; problem: undefined } | { shared: undefined; problem: string };

const DAMAGED = "This link is damaged or cut off. Copy it again, or ask for the TOML file.";
const NEWER = "This link comes from a newer version of Forebay. Reload the page, or ask for the TOML file.";
const TOO_LONG = `A link holds a scenario of at most ${MOST_BYTES / 1024} KiB. Use the TOML file.`;

export function encodeShared({ text, queues, at, seed, overrides }: Shared): Encoded {
  const head: Head = {};
  if (queues.length > 0) {
    head.queues = queues;
  }
  if (at !== undefined) {
    head.at = at;
  }
  if (seed !== undefined) {
    head.seed = String(seed);
  }
  if (overrides && overrides.length > 0) {
    head.set = overrides;
  }
  const encoder = new TextEncoder();
  const first = encoder.encode(`${JSON.stringify(head)}\n`);
  const body = encoder.encode(text);
  if (body.length > MOST_BYTES || first.length > MOST_HEAD || !headOf(JSON.stringify(head))) {
    return { code: undefined, problem: TOO_LONG };
  }
  const plain = new Uint8Array(first.length + body.length);
  plain.set(first);
  plain.set(body, first.length);
  const packed = deflateSync(plain, { level: 9 });
  const bytes = new Uint8Array(packed.length + 4);
  new DataView(bytes.buffer).setUint32(0, crc32(plain));
  bytes.set(packed, 4);
  return { code: VERSION + toBase64(bytes), problem: undefined };
}

export function decodeShared(code: string): Decoded {
  const refused = (problem: string): Decoded => ({ shared: undefined, problem });
  if (!code.startsWith(VERSION)) {
    return refused(/^[2-9]/.test(code) ? NEWER : DAMAGED);
  }
  if (code.length > MOST_CHARACTERS) {
    return refused(TOO_LONG);
  }
  const bytes = fromBase64(code.slice(VERSION.length));
  if (!bytes || bytes.length < 5) {
    return refused(DAMAGED);
  }
  const plain = inflate(bytes.subarray(4), MOST_BYTES + MOST_HEAD);
  if (typeof plain === "string") {
    return refused(plain === "large" ? TOO_LONG : DAMAGED);
  }
  const split = plain.indexOf(10);
  if (split < 0 || crc32(plain) !== new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)) {
    return refused(DAMAGED);
  }
  if (plain.length - split - 1 > MOST_BYTES) {
    return refused(TOO_LONG);
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const head = headOf(decoder.decode(plain.subarray(0, split)));
    const text = decoder.decode(plain.subarray(split + 1));
    if (!head) {
      return refused(DAMAGED);
    }
    const { queues = [], at, seed, set: overrides } = head;
    return { shared: { text, queues, at, seed: seedOf(seed), overrides }, problem: undefined };
  } catch {
    return refused(DAMAGED);
  }
}

/** The whole address of a scenario, from that of the page: `https://…/lab/#/lab?s=…`. */
export function linkOf(code: string, page: string, route = "lab"): string {
  return `${page.replace(/#.*$/s, "")}#/${route}?s=${code}`;
}

/** What a link compares; all of it may be missing. */
interface Head {
  queues?: string[];
  at?: string;
  seed?: string;
  set?: Override[];
}

/** Reads the first line. Anything unexpected in it makes the whole link invalid. */
function headOf(line: string): Head | undefined {
  const read: unknown = line.length <= MOST_HEAD ? JSON.parse(line) : undefined;
  if (typeof read !== "object" || read === null || Array.isArray(read)) {
    return undefined;
  }
  const { queues, at, seed, set, ...others } = read as Record<string, unknown>;
  const isWell =
    Object.keys(others).length === 0 &&
    (queues === undefined || (Array.isArray(queues) && queues.length <= 64 && queues.every(isText))) &&
    (at === undefined || isText(at)) &&
    (seed === undefined || (isText(seed) && /^\d{1,20}$/.test(seed) && BigInt(seed) < 2n ** 64n)) &&
    (set === undefined || (Array.isArray(set) && set.length <= 64 && set.every(isOverride)));
  return isWell ? (read as Head) : undefined;
}

function seedOf(text: string | undefined): number | bigint | undefined {
  if (text === undefined) {
    return undefined;
  }
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= 2000;
}

function isOverride(value: unknown): value is Override {
  return Array.isArray(value) && value.length === 2 && value.every(isText);
}

/** Decompresses at most `most` bytes. */
function inflate(packed: Uint8Array, most: number): Uint8Array | "large" | "damaged" {
  const parts: Uint8Array[] = [];
  let length = 0;
  const stream = new Inflate(part => {
    parts.push(part);
    length += part.length;
  });
  try {
    for (let at = 0; at < packed.length; at += STEP) {
      stream.push(packed.subarray(at, at + STEP), at + STEP >= packed.length);
      if (length > most) {
        return "large";
      }
    }
  } catch {
    return "damaged";
  }
  const plain = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    plain.set(part, at);
    at += part.length;
  }
  return plain;
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) {
    return undefined;
  }
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, character => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** CRC-32 of IEEE 802.3, a bit at a time: a link is short. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  return ~crc >>> 0;
}
