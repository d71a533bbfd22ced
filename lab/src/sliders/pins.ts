// Adds and removes entries of `[lab] pins` in a scenario's text. Everything else stays as it is.

import { resolve } from "../editor/paths";
import { type Document, entryOf, type List, type Node, nodeAt, parse, type Section, type Table } from "../editor/toml";
import type { Pin, Value } from "../engine/protocol";

/** The pins that a text has, also while it is broken elsewhere. */
export function pinsOf(text: string): Pin[] {
  const node = nodeAt(parse(text), ["lab", "pins"]);
  return node?.kind === "list" ? node.items.map(pinOf).filter(pin => pin !== undefined) : [];
}

function pinOf(node: Node): Pin | undefined {
  if (node.kind === "scalar" && node.type === "string") {
    return { key: node.value, from: undefined, to: undefined, label: undefined };
  }
  if (node.kind !== "table") {
    return undefined;
  }
  const text = (key: string) => {
    const value = entryOf(node, key)?.node;
    return value?.kind === "scalar" && value.type !== "missing" ? value.value : undefined;
  };
  const key = text("key");
  return key === undefined ? undefined : { key, from: text("from"), to: text("to"), label: text("label") };
}

/** Whether two paths are of the same value: `flows.tcp.count` and `flows.0.count`. */
export function isSamePath(text: string, one: string, other: string): boolean {
  if (one === other) {
    return true;
  }
  const document = parse(text);
  const node = resolve(document, one);
  return node !== undefined && node === resolve(document, other);
}

/** Tells which numbers of a text have a pin. Each of them has its place in this text. */
export function isPinned(text: string, pins: readonly Pin[]): (value: Value) => boolean {
  const document = parse(text);
  const places = new Set(pins.map(pin => resolve(document, pin.key)?.from));
  return value => places.has(value.from);
}

/** Adds a pin, or removes the one that the text has for this key. */
export function togglePin(text: string, pin: Pin): string {
  const isPinned = pinsOf(text).some(one => isSamePath(text, one.key, pin.key));
  return isPinned ? removePin(text, pin.key) : addPin(text, pin);
}

export function addPin(text: string, pin: Pin): string {
  if (pinsOf(text).some(one => isSamePath(text, one.key, pin.key))) {
    return text;
  }
  const document = parse(text);
  const written = writePin(pin);
  const lab = nodeAt(document, ["lab"]);
  const pins = nodeAt(document, ["lab", "pins"]);
  if (pins?.kind === "list" && pins.ofHeaders) {
    const last = document.sections.findLast(section => section.isItem && isPath(section, "lab", "pins"));
    return last ? insertSection(text, contentEnd(text, last), `[[lab.pins]]\n${writeEntries(pin, "\n")}\n`) : text;
  }
  if (pins?.kind === "list") {
    return insertItem(text, pins, written);
  }
  if (lab?.kind === "table" && lab.style === "inline" && lab.closed) {
    return insertEntry(text, lab, `pins = [${written}]`);
  }
  const header = document.sections.find(section => !section.isItem && isPath(section, "lab"));
  if (header) {
    const entry = `${newline(text)}pins = [${written}]`;
    return text.slice(0, header.headerTo) + entry + text.slice(header.headerTo);
  }
  return insertSection(text, text.length, `[lab]\npins = [${written}]\n`);
}

export function removePin(text: string, key: string): string {
  const document = parse(text);
  const pins = nodeAt(document, ["lab", "pins"]);
  const index = pins?.kind === "list" ? pins.items.findIndex(item => isPinOf(text, item, key)) : -1;
  if (pins?.kind !== "list" || index < 0) {
    return text;
  }
  if (pins.ofHeaders) {
    const item = pins.items[index];
    const section = document.sections.find(one => one.table === item);
    return section ? cutSection(text, section) : text;
  }
  return pins.items.length > 1 ? cutItem(text, pins, index) : cutPins(text, document, pins);
}

function isPinOf(text: string, item: Node, key: string): boolean {
  const pin = pinOf(item);
  return pin !== undefined && isSamePath(text, pin.key, key);
}

function isPath(section: Section, ...path: string[]): boolean {
  const keys = section.isItem ? section.path.slice(0, -1) : section.path;
  return keys.length === path.length && keys.every((step, index) => step === path[index]);
}

/** A pin as an element of the list: its key, or a table if it has more. */
function writePin(pin: Pin): string {
  const isPlain = pin.from === undefined && pin.to === undefined && pin.label === undefined;
  return isPlain ? quoted(pin.key) : `{ ${writeEntries(pin, ", ")} }`;
}

function writeEntries(pin: Pin, separator: string): string {
  const entries = Object.entries({ key: pin.key, from: pin.from, to: pin.to, label: pin.label });
  return entries
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key} = ${quoted(String(value))}`)
    .join(separator);
}

/** A TOML string; one in single quotes if that needs no escapes. */
function quoted(text: string): string {
  const needsEscapes = /["\\\p{Cc}]/u.test(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: TOML does not allow them in single quotes
  const fitsSingle = !/['\u0000-\u0008\u000a-\u001f\u007f]/.test(text);
  return needsEscapes && fitsSingle ? `'${text}'` : JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

function newline(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function insertItem(text: string, list: List, item: string): string {
  const last = list.items.at(-1);
  if (!last) {
    return `${text.slice(0, list.from + 1)}${item}${text.slice(list.from + 1)}`;
  }
  const isMultiline = text.slice(list.from, last.from).includes("\n");
  const lineStart = text.lastIndexOf("\n", last.from - 1) + 1;
  const indent = /^[ \t]*/.exec(text.slice(lineStart))?.[0] ?? "";
  const gap = isMultiline ? newline(text) + indent : " ";
  const comma = commaAfter(text, last.to, list.to);
  if (comma === undefined) {
    return `${text.slice(0, last.to)},${gap}${item}${text.slice(last.to)}`;
  }
  // A trailing comma stays trailing. A comment after it stays on its line.
  const end = isMultiline ? lineEnd(text, comma + 1, list.to - 1) : comma + 1;
  return `${text.slice(0, end)}${gap}${item}${isMultiline ? "," : ""}${text.slice(end)}`;
}

function lineEnd(text: string, from: number, most: number): number {
  const end = text.slice(from, most).search(/\r?\n/);
  return end < 0 ? from : from + end;
}

/** The place of the comma behind an element, which comments and line breaks may precede. */
function commaAfter(text: string, from: number, to: number): number | undefined {
  const found = /^(\s|#[^\n]*\n)*,/.exec(text.slice(from, to));
  return found ? from + found[0].length - 1 : undefined;
}

function insertEntry(text: string, table: Table, entry: string): string {
  const last = table.entries.at(-1);
  const at = last ? last.node.to : table.from + 1;
  const rest = text.slice(at);
  const inserted = last ? `, ${entry}` : ` ${entry}${/^\s/.test(rest) ? "" : " "}`;
  return text.slice(0, at) + inserted + rest;
}

/** The end of the last line of a section that is neither empty nor a comment. */
function contentEnd(text: string, section: Section): number {
  const body = text.slice(section.from, section.to);
  const trailing = /(?:\r?\n[ \t]*(?:#[^\n]*)?)*$/.exec(body)?.[0] ?? "";
  return section.to - trailing.length;
}

function insertSection(text: string, at: number, section: string): string {
  const line = newline(text);
  const before = text.slice(0, at);
  const after = text.slice(at);
  const gap = before === "" ? "" : /\n\r?\n$/.test(before) ? "" : before.endsWith("\n") ? line : line + line;
  const inserted = section.replaceAll("\n", line);
  // The text goes on with a line break of its own.
  return before + gap + (/^\r?\n/.test(after) ? inserted.slice(0, -line.length) : inserted) + after;
}

/** Cuts an element with its comma; an element with lines of its own goes with its lines and its comment. */
function cutItem(text: string, list: List, index: number): string {
  const item = list.items[index] as Node;
  const previous = list.items[index - 1];
  const comma = commaAfter(text, item.to, list.to);
  const end = comma === undefined ? item.to : comma + 1;
  const lineStart = text.lastIndexOf("\n", item.from - 1) + 1;
  const isAlone =
    /^[ \t]*$/.test(text.slice(lineStart, item.from)) &&
    /^[ \t]*(#[^\n]*)?\r?\n/.test(text.slice(end)) &&
    lineStart > list.from;
  if (isAlone) {
    const next = text.indexOf("\n", end) + 1;
    const rest = text.slice(0, lineStart) + text.slice(next);
    return comma === undefined && previous ? withoutComma(rest, previous.to, list.to) : rest;
  }
  if (comma !== undefined) {
    const spaces = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
    return text.slice(0, item.from) + text.slice(end + spaces);
  }
  return text.slice(0, previous ? previous.to : item.from) + text.slice(end);
}

/** The new last element needs no comma; a trailing one was not there before. */
function withoutComma(text: string, from: number, to: number): string {
  const comma = commaAfter(text, from, to);
  return comma === undefined ? text : text.slice(0, comma) + text.slice(comma + 1);
}

/** Cuts `pins` where its only element goes, and `[lab]` if nothing else is in it. A comment in the list keeps it. */
function cutPins(text: string, document: Document, list: List): string {
  const lab = nodeAt(document, ["lab"]);
  const entry = lab?.kind === "table" ? entryOf(lab, "pins") : undefined;
  const [item] = list.items;
  if (lab?.kind !== "table" || !entry || !item) {
    return text;
  }
  const hasComment = /#/.test(text.slice(list.from, item.from) + text.slice(item.to, list.to));
  const isOnLine = lab.style !== "inline";
  if (hasComment || !isOnLine) {
    const comma = commaAfter(text, item.to, list.to);
    return text.slice(0, item.from) + text.slice(comma === undefined ? item.to : comma + 1);
  }
  const section = document.sections.find(one => one.table === lab);
  const body = section && text.slice(section.headerTo, section.to);
  const isOnly = section && lab.entries.length === 1 && !body?.slice(0, list.from - section.headerTo).includes("#");
  if (section && isOnly && !/^[ \t]*#/.test(text.slice(list.to, lineEnd(text, list.to, text.length)))) {
    const rest = text.slice(list.to, section.to);
    const isLast = section.to === text.length && rest.trim() === "";
    if (isLast) {
      const kept = text.slice(0, section.from).trimEnd();
      return kept === "" ? "" : kept + newline(text);
    }
    // Comments below belong to the next section.
    return text.slice(0, section.from) + rest.replace(/^[ \t]*(\r?\n)+/, "") + text.slice(section.to);
  }
  const lineStart = text.lastIndexOf("\n", entry.from - 1) + 1;
  const end = text.indexOf("\n", list.to);
  return text.slice(0, lineStart) + (end < 0 ? "" : text.slice(end + 1));
}

/** Cuts a section up to the comments above the next one. */
function cutSection(text: string, section: Section): string {
  const end = contentEnd(text, section);
  const rest = text.slice(end);
  const before = text.slice(0, section.from);
  if (rest.trim() === "") {
    const kept = before.trimEnd();
    return kept === "" ? "" : kept + newline(text);
  }
  return before + rest.replace(/^(\r?\n)+/, "");
}
