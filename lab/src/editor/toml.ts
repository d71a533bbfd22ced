// TOML as it is while someone types it: a tree with places that also exists for broken text, and the context of a place.
//
// The engine decides whether a text is valid. This parser accepts everything; where a line cannot be understood it goes
// on with the next one.

/** A key of a table, or the index of an element of a list. */
export type Step = string | number;

export interface Scalar {
  kind: "scalar";
  from: number;
  to: number;
  type: "string" | "number" | "boolean" | "other" | "missing";
  /** The text of a string without its quotes and with escapes resolved; otherwise the text as it is written. */
  value: string;
  /** The quotes of a string: one or three of `"` or `'`. */
  quote: string;
  closed: boolean;
}

export interface List {
  kind: "list";
  from: number;
  to: number;
  items: Node[];
  /** Whether it is written as `[[headers]]`. */
  ofHeaders: boolean;
  closed: boolean;
}

export interface Table {
  kind: "table";
  from: number;
  to: number;
  entries: Entry[];
  /** The entries by their keys. Of two, the first counts, or a later one that has entries itself. */
  index: Map<string, Entry>;
  /** `header`: under `[a]` or `[[a]]`. `implied`: by a dotted key or by a header further down. */
  style: "root" | "header" | "inline" | "implied";
  closed: boolean;
}

export type Node = Scalar | List | Table;

export interface Entry {
  key: string;
  from: number;
  to: number;
  node: Node;
}

/** A header such as `[topology.star]`, and the part of the text up to the next one. */
export interface Section {
  from: number;
  /** The end of the header's own line, without its line break. */
  headerTo: number;
  /** The start of the next section, or the end of the text. */
  to: number;
  path: Step[];
  table: Table;
  isItem: boolean;
}

/** A place where something is, or may be written. */
export interface Slot {
  /** `key`: one segment of a key. `value`: a scalar, or a place for a value. */
  kind: "key" | "value" | "comment";
  from: number;
  to: number;
  /** The table that the key is in, or the path of the value. */
  path: Step[];
  /** The segment of the key, or the decoded value; empty where nothing is written yet. */
  word: string;
  /** Where a key is: at the start of a line, in braces, or in a header. */
  within: "line" | "braces" | "header" | "itemHeader";
  /** Whether a `=` or `.` follows a key, or `]` a header. */
  continues: boolean;
  scalar: Scalar | undefined;
}

export interface Document {
  text: string;
  root: Table;
  sections: Section[];
  slots: Slot[];
}

/** Deeper than any scenario; keeps a text of ten thousand brackets or dots from taking the page down. */
const DEEPEST = 64;

const BARE_KEY = /[^\s=.[\]{},#"']/;

class Parser {
  private at = 0;
  private readonly slots: Slot[] = [];
  private readonly sections: Section[] = [];
  private readonly root: Table;
  private table: Table;
  private path: Step[] = [];

  constructor(private readonly text: string) {
    this.root = newTable(0, text.length, "root");
    this.table = this.root;
  }

  document(): Document {
    for (;;) {
      this.blank(true);
      if (this.at >= this.text.length) {
        break;
      }
      if (this.text[this.at] === "[") {
        this.header();
      } else {
        this.entry(this.table, this.path, "line", 0);
      }
      // Anything else on the line is a fault, which the engine reports.
      this.restOfLine();
    }
    const last = this.sections.at(-1);
    if (last) {
      last.to = this.text.length;
    }
    return { text: this.text, root: this.root, sections: this.sections, slots: this.slots };
  }

  /** Skips spaces and comments; with `lines` also line breaks. */
  private blank(lines: boolean): void {
    for (;;) {
      const character = this.text[this.at];
      if (character === " " || character === "\t" || (lines && (character === "\n" || character === "\r"))) {
        this.at += 1;
      } else if (character === "#") {
        const from = this.at;
        this.toLineEnd();
        this.slot({ kind: "comment", from, to: this.at, path: [], word: "" });
      } else {
        return;
      }
    }
  }

  private toLineEnd(): void {
    const end = this.text.indexOf("\n", this.at);
    this.at = end < 0 ? this.text.length : end;
  }

  private restOfLine(): void {
    this.blank(false);
    this.toLineEnd();
  }

  private slot(slot: Pick<Slot, "kind" | "from" | "to" | "path" | "word"> & Partial<Slot>): void {
    this.slots.push({ within: "line", continues: false, scalar: undefined, ...slot });
  }

  private header(): void {
    const from = this.at;
    const isItem = this.text.startsWith("[[", this.at);
    this.at += isItem ? 2 : 1;
    const within = isItem ? "itemHeader" : "header";
    const keys = this.keys([], within);
    let headerTo = this.lineEndAfter(this.at);
    while (/\s/.test(this.text[headerTo - 1] ?? "")) {
      headerTo -= 1;
    }
    const last = this.sections.at(-1);
    if (last) {
      last.to = from;
    }
    const named = keys.filter(key => key.word !== "");
    const { table, path } = this.tableAt(named, isItem, from);
    this.table = table;
    this.path = path;
    this.sections.push({ from, headerTo, to: from, path, table, isItem });
    while (this.text[this.at] === "]") {
      this.at += 1;
    }
  }

  /** The table of a header, made where it does not exist. Steps through lists go to their last element. */
  private tableAt(keys: Key[], isItem: boolean, from: number): { table: Table; path: Step[] } {
    let host = this.root;
    const path: Step[] = [];
    for (const [position, key] of keys.entries()) {
      const isLast = position === keys.length - 1;
      path.push(key.word);
      let node = entryOf(host, key.word)?.node;
      if (isLast && isItem) {
        if (node?.kind !== "list") {
          node = { kind: "list", from, to: key.to, items: [], ofHeaders: true, closed: true };
          addEntry(host, { key: key.word, from: key.from, to: key.to, node });
        }
        const item = newTable(from, key.to, "header");
        path.push(node.items.length);
        node.items.push(item);
        return { table: item, path };
      }
      if (node?.kind === "list") {
        path.push(Math.max(0, node.items.length - 1));
        node = node.items.at(-1);
      }
      if (node?.kind !== "table") {
        node = newTable(from, key.to, "implied");
        addEntry(host, { key: key.word, from: key.from, to: key.to, node });
      }
      if (isLast && node.style === "implied") {
        node.style = "header";
      }
      host = node;
    }
    return { table: host, path };
  }

  /** Reads `a."b c".d`. There is always at least one key, which may be empty. */
  private keys(table: Step[], within: Slot["within"]): Key[] {
    const keys: Key[] = [];
    for (;;) {
      const before = this.at;
      this.blank(false);
      const from = this.at;
      const word = this.key();
      const to = this.at;
      this.blank(false);
      const next = this.text[this.at];
      const path = [...table, ...keys.map(key => key.word)];
      // Spaces around an empty key belong to it: the cursor may be anywhere between `{` and `}`.
      const [first, last] = from === to ? [before, this.at] : [from, to];
      const continues = next === "=" || next === "." || next === "]";
      this.slot({ kind: "key", from: first, to: last, path, word, within, continues });
      keys.push({ word, from, to });
      if (next !== "." || keys.length > DEEPEST) {
        return keys;
      }
      this.at += 1;
    }
  }

  private key(): string {
    const quote = this.text[this.at];
    if (quote === '"' || quote === "'") {
      return this.shortString(quote).value;
    }
    const from = this.at;
    while (this.at < this.text.length && BARE_KEY.test(this.text[this.at] ?? "")) {
      this.at += 1;
    }
    return this.text.slice(from, this.at);
  }

  private entry(table: Table, path: Step[], within: "line" | "braces", depth: number): void {
    const start = this.at;
    const keys = this.keys(path, within);
    const full = [...path, ...keys.map(key => key.word)];
    let node: Node;
    if (this.text[this.at] === "=") {
      this.at += 1;
      node = this.value(full, within === "braces" || depth > 0, depth);
    } else {
      node = missing(this.at);
      if (this.at === start) {
        // Nothing that could be a key: go on behind this character.
        this.at += 1;
      }
    }
    let host = table;
    for (const key of keys.slice(0, -1)) {
      let next = entryOf(host, key.word)?.node;
      if (next?.kind !== "table") {
        next = newTable(key.from, node.to, "implied");
        addEntry(host, { key: key.word, from: key.from, to: key.to, node: next });
      }
      host = next;
    }
    const last = keys.at(-1);
    if (last?.word) {
      addEntry(host, { key: last.word, from: last.from, to: last.to, node });
    }
  }

  private value(path: Step[], enclosed: boolean, depth: number): Node {
    const before = this.at;
    this.blank(false);
    const character = this.text[this.at];
    if (depth < DEEPEST && character === "[") {
      return this.list(path, depth + 1);
    }
    if (depth < DEEPEST && character === "{") {
      return this.braces(path, depth + 1);
    }
    const scalar = this.scalar(enclosed);
    const [from, to] = scalar.type === "missing" ? [before, this.at] : [scalar.from, scalar.to];
    this.slot({ kind: "value", from, to, path, word: scalar.value, scalar });
    return scalar;
  }

  private scalar(enclosed: boolean): Scalar {
    const from = this.at;
    const quote = this.text[from];
    if (quote === '"' || quote === "'") {
      const long = quote.repeat(3);
      return this.text.startsWith(long, from) ? this.longString(long) : this.shortString(quote);
    }
    const stops = enclosed ? /[,\]}#\n]/g : /[#\n]/g;
    stops.lastIndex = from;
    const end = stops.exec(this.text)?.index ?? this.text.length;
    const value = this.text.slice(from, end).trimEnd();
    if (!value) {
      return missing(from);
    }
    this.at = from + value.length;
    const type = NUMBER.test(value) ? "number" : value === "true" || value === "false" ? "boolean" : "other";
    return { kind: "scalar", from, to: this.at, type, value, quote: "", closed: true };
  }

  private shortString(quote: string): Scalar {
    const from = this.at;
    this.at += 1;
    const inner = this.at;
    while (this.at < this.text.length && this.text[this.at] !== "\n" && this.text[this.at] !== quote) {
      this.at += quote === '"' && this.text[this.at] === "\\" && this.text[this.at + 1] !== "\n" ? 2 : 1;
    }
    this.at = Math.min(this.at, this.text.length);
    const closed = this.text[this.at] === quote;
    const raw = this.text.slice(inner, this.at);
    this.at += closed ? 1 : 0;
    return { kind: "scalar", from, to: this.at, type: "string", value: unescaped(raw, quote), quote, closed };
  }

  private longString(quote: string): Scalar {
    const from = this.at;
    const inner = from + 3;
    const ends = quote === '"""' ? /\\[\s\S]|"""/g : /'''/g;
    ends.lastIndex = inner;
    let found = ends.exec(this.text);
    while (found?.[0].startsWith("\\")) {
      found = ends.exec(this.text);
    }
    let end = found?.index ?? -1;
    const closed = end >= 0;
    // Up to two quotes may come before the closing ones.
    while (closed && this.text[end + 3] === quote[0]) {
      end += 1;
    }
    const raw = this.text.slice(inner, closed ? end : this.text.length).replace(/^\r?\n/, "");
    this.at = closed ? end + 3 : this.text.length;
    return { kind: "scalar", from, to: this.at, type: "string", value: unescaped(raw, quote), quote, closed };
  }

  private list(path: Step[], depth: number): List {
    const list: List = { kind: "list", from: this.at, to: this.at, items: [], ofHeaders: false, closed: false };
    this.at += 1;
    let isOpen = true;
    for (;;) {
      const before = this.at;
      this.blank(true);
      const character = this.text[this.at];
      const itemPath = [...path, list.items.length];
      const isCut = this.isStatement(before);
      if (character === undefined || character === "]" || character === "," || isCut) {
        this.at = isCut ? this.lineEndAfter(before) : this.at;
        if (isOpen) {
          this.slot({ kind: "value", from: before, to: this.at, path: itemPath, word: "" });
        }
        if (isCut || character === undefined) {
          break;
        }
        this.at += 1;
        if (character === "]") {
          list.closed = true;
          break;
        }
        isOpen = true;
        continue;
      }
      const start = this.at;
      list.items.push(this.value(itemPath, true, depth));
      const end = this.at;
      this.blank(true);
      isOpen = this.text[this.at] === ",";
      if (isOpen || this.at === start) {
        this.at += 1;
      } else {
        this.at = end;
      }
    }
    list.to = this.at;
    return list;
  }

  private braces(path: Step[], depth: number): Table {
    const braces = newTable(this.at, this.at, "inline");
    this.at += 1;
    // Whether a key may come next: behind the brace or a comma.
    let isOpen = true;
    const empty = (from: number) => {
      if (isOpen) {
        this.slot({ kind: "key", from, to: this.at, path, word: "", within: "braces" });
      }
    };
    for (;;) {
      const before = this.at;
      this.blank(true);
      const character = this.text[this.at];
      const onNewLine = this.text.slice(before, this.at).includes("\n");
      if (character === undefined || (onNewLine && character !== "}" && this.isUnindented())) {
        this.at = this.lineEndAfter(before);
        empty(before);
        break;
      }
      if (character === "}" || character === ",") {
        empty(before);
        isOpen = true;
        this.at += 1;
        braces.closed = character === "}";
        if (braces.closed) {
          break;
        }
        continue;
      }
      if (character === "]") {
        // The bracket of an enclosing list.
        break;
      }
      this.at = onNewLine ? this.at : before;
      this.entry(braces, path, "braces", depth);
      this.blank(false);
      isOpen = this.text[this.at] === ",";
      if (isOpen) {
        this.at += 1;
      } else if (this.text[this.at] !== "}" && /^[\r\n]|^$/.test(this.text[this.at] ?? "")) {
        // A line break without a comma, and no closing brace below: the table was not closed.
        if (!/^\s*\}/.test(this.text.slice(this.at, this.at + 200))) {
          break;
        }
      }
    }
    braces.to = this.at;
    return braces;
  }

  /** Whether the text from here on, on a line of its own, is a header or a key and its value: the list was not closed. */
  private isStatement(before: number): boolean {
    if (!this.text.slice(before, this.at).includes("\n")) {
      return false;
    }
    const line = this.text.slice(this.at, this.lineEndAfter(this.at));
    return /^(\[\[?\s*[A-Za-z_][\w.\s"'-]*\]\]?\s*(#.*)?$|[A-Za-z_][\w."'\s-]*=)/.test(line);
  }

  private isUnindented(): boolean {
    return this.at === 0 || this.text[this.at - 1] === "\n";
  }

  private lineEndAfter(position: number): number {
    const end = this.text.indexOf("\n", position);
    return end < 0 ? this.text.length : end;
  }
}

interface Key {
  word: string;
  from: number;
  to: number;
}

const NUMBER = /^[+-]?(0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d[\d_]*)?)$/;

function newTable(from: number, to: number, style: Table["style"]): Table {
  return { kind: "table", from, to, entries: [], index: new Map(), style, closed: style !== "inline" };
}

function addEntry(host: Table, entry: Entry): void {
  host.entries.push(entry);
  if (!host.index.has(entry.key) || entry.node.kind !== "scalar") {
    host.index.set(entry.key, entry);
  }
}

function missing(at: number): Scalar {
  return { kind: "scalar", from: at, to: at, type: "missing", value: "", quote: "", closed: true };
}

function unescaped(raw: string, quote: string): string {
  if (quote.startsWith("'") || !raw.includes("\\")) {
    return raw;
  }
  const letters: Record<string, string> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\x1b" };
  return raw.replace(/\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|\r?\n\s*|[\s\S])/g, (_, sequence: string) => {
    if (/^[uUx]./.test(sequence)) {
      const code = Number.parseInt(sequence.slice(1), 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : "";
    }
    return /^\s/.test(sequence) ? "" : (letters[sequence] ?? sequence);
  });
}

let latest: Document | undefined;

export function parse(text: string): Document {
  if (latest?.text !== text) {
    latest = new Parser(text).document();
  }
  return latest;
}

/** The innermost slot at a place. Where nothing is written, on an empty line, that is a key of the section there. */
export function slotAt(document: Document, position: number): Slot | undefined {
  let found: Slot | undefined;
  for (const slot of document.slots) {
    if (slot.from <= position && position <= slot.to) {
      // `cong|}`: a word that ends here is meant rather than the empty place behind it.
      const isSmaller = !found || slot.to - slot.from < found.to - found.from;
      const isBetter = !found || (Boolean(slot.word) === Boolean(found.word) ? isSmaller : slot.word !== "");
      found = isBetter ? slot : found;
    }
  }
  if (found) {
    // The end of a comment's line is in the comment; its start is not, so that a key can be written before it.
    return found.kind === "comment" && found.from === position ? undefined : found;
  }
  const line = document.text.slice(document.text.lastIndexOf("\n", position - 1) + 1, position);
  if (line.trim() !== "") {
    return undefined;
  }
  const path = sectionAt(document, position)?.path ?? [];
  return {
    kind: "key",
    from: position,
    to: position,
    path,
    word: "",
    within: "line",
    continues: false,
    scalar: undefined,
  };
}

export function sectionAt(document: Document, position: number): Section | undefined {
  return document.sections.findLast(section => section.from <= position);
}

/** The node at a path, whose elements of lists are indices. */
export function nodeAt(document: Document, path: Step[]): Node | undefined {
  let node: Node | undefined = document.root;
  for (const step of path) {
    if (node?.kind === "list" && typeof step === "string") {
      // The path of a header refers to the last element so far.
      node = node.items.at(-1);
    }
    if (node?.kind === "table" && typeof step === "string") {
      node = entryOf(node, step)?.node;
    } else if (node?.kind === "list" && typeof step === "number") {
      node = node.items[step];
    } else {
      return undefined;
    }
  }
  return node;
}

export function entryOf(table: Table, key: string): Entry | undefined {
  return table.index.get(key);
}
