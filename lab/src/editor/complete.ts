// Completion and hover texts, apart from CodeMirror: what may be written at a place, and what is written there.

import { references } from "./references";
import { type Described, isList, isTable, type JsonSchema, names, quantity, Schema, toml, typeText } from "./schema";
import { type Document, nodeAt, parse, type Slot, type Step, slotAt } from "./toml";

/** What may be inserted at a place. */
export interface Proposal {
  label: string;
  /** The text to insert, with `from` and `to` of the part that is selected afterwards. */
  insert: string;
  select: { from: number; to: number };
  kind: "key" | "table" | "value" | "section" | "unit";
  detail: string;
  description: string;
  default: string | undefined;
  /** Whether to go on with completion behind the inserted text. */
  continues: boolean;
  required: boolean;
}

export interface Proposals {
  from: number;
  to: number;
  proposals: Proposal[];
}

/** What a hovered word is. */
export interface Hover {
  from: number;
  to: number;
  title: string;
  type: string;
  description: string;
  default: string | undefined;
  required: boolean;
}

const BARE = /^[A-Za-z0-9_-]+$/;

/** What may be written at `position`; `paths` are those of the numbers, which `[lab] pins` may name. */
export function complete(text: string, position: number, schema: Schema, paths: string[] = []): Proposals | undefined {
  const document = parse(text);
  const slot = slotAt(document, position);
  if (!slot || slot.kind === "comment") {
    return undefined;
  }
  return slot.kind === "key"
    ? keyProposals(document, slot, position, schema)
    : valueProposals(document, slot, position, schema, paths);
}

function keyProposals(document: Document, slot: Slot, position: number, schema: Schema): Proposals | undefined {
  const [from, to] = slot.word ? [slot.from, slot.to] : [position, position];
  const table = schema.at(slot.path);
  const node = nodeAt(document, slot.path);
  // A key that is only written at this place is not present yet.
  const entries = node?.kind === "table" ? node.entries.filter(entry => !covers(entry, slot)) : [];
  const present = [...new Set(entries.map(entry => entry.key))];
  const isHeader = slot.within === "header" || slot.within === "itemHeader";
  const proposals: Proposal[] = [];
  for (const described of table ? schema.keys(table.alternatives, present) : []) {
    // Headers and dotted keys may go on in a table that is there; a key with a value may not come twice.
    const isThere = present.includes(described.key);
    if (isHeader ? fitsHeader(described, slot) : !isThere) {
      proposals.push(keyProposal(described, slot, isHeader || slot.continues));
    }
  }
  if (slot.within === "line" && slot.path.length === sectionDepth(document, position)) {
    const isMeant = (label: string) => label.replace(/^\[+/, "").startsWith(slot.word);
    proposals.push(...sections(document, schema).filter(({ label }) => isMeant(label)));
  }
  return proposals.length > 0 ? { from, to, proposals } : undefined;
}

function covers(entry: { from: number; to: number }, slot: Slot): boolean {
  return entry.from >= slot.from && entry.to <= slot.to && slot.word !== "";
}

function fitsHeader(described: Described, slot: Slot): boolean {
  const isOfTables = described.alternatives.some(isList);
  return slot.within === "itemHeader"
    ? isOfTables || described.alternatives.some(isTable)
    : described.alternatives.some(isTable) || isOfTables;
}

function sectionDepth(document: Document, position: number): number {
  return document.sections.findLast(section => section.from <= position)?.path.length ?? 0;
}

function keyProposal(described: Described, slot: Slot, isBare: boolean): Proposal {
  const key = BARE.test(described.key) ? described.key : JSON.stringify(described.key);
  const value = isBare ? { text: "", from: 0, to: 0, continues: false } : starter(described);
  const lead = isBare ? key : `${key} = `;
  const isComposed = described.alternatives.every(alternative => isTable(alternative) || isList(alternative));
  return {
    label: described.key,
    insert: lead + value.text,
    select: { from: lead.length + value.from, to: lead.length + value.to },
    kind: isComposed ? "table" : "key",
    detail: typeText(described.alternatives),
    description: described.description,
    default: defaultOf(described),
    continues: value.continues,
    required: described.required && slot.within !== "header",
  };
}

/** The value with which a new key begins, and the part of it to select. */
function starter(described: Described): { text: string; from: number; to: number; continues: boolean } {
  const { alternatives } = described;
  const of = alternatives.map(quantity).find(found => found !== undefined);
  const given = described.default;
  if (of) {
    const text = typeof given === "string" && given !== "0 ps" ? given : of.example;
    return { text: `"${text}"`, from: 1, to: text.length + 1, continues: false };
  }
  const named = names(alternatives);
  if (named.length > 0) {
    return { text: "", from: 0, to: 0, continues: true };
  }
  if (alternatives.every(isTable)) {
    return { text: "{  }", from: 2, to: 2, continues: true };
  }
  if (alternatives.every(isList)) {
    return { text: "[]", from: 1, to: 1, continues: true };
  }
  const [first] = alternatives;
  const type = first?.schema.type;
  if (type !== undefined && [type].flat().some(name => name === "integer" || name === "number")) {
    const text = typeof given === "number" ? String(given) : String(first?.schema.minimum ?? 1);
    return { text, from: 0, to: text.length, continues: false };
  }
  return { text: '""', from: 1, to: 1, continues: true };
}

/** Sections that a scenario may begin at the start of a line. */
function sections(document: Document, schema: Schema): Proposal[] {
  const proposals: Proposal[] = [];
  const root = schema.at([]);
  const present = document.root.entries.map(entry => entry.key);
  const add = (label: string, { description }: { description: string }) =>
    proposals.push({
      label,
      insert: `${label}\n`,
      select: { from: label.length + 1, to: label.length + 1 },
      kind: "section",
      detail: "section",
      description,
      default: undefined,
      continues: true,
      required: false,
    });
  for (const described of root ? schema.keys(root.alternatives) : []) {
    const tables = described.alternatives.filter(isTable);
    const items = described.alternatives
      .filter(isList)
      .flatMap(({ schema: list }) => (list.items ? schema.alternatives(list.items) : []));
    if (items.some(isTable)) {
      add(`[[${described.key}]]`, described);
    } else if (tables.length > 0 && !present.includes(described.key)) {
      const keys = tables.length > 1 ? schema.keys(tables) : [];
      for (const choice of keys) {
        add(`[${described.key}.${choice.key}]`, choice);
      }
      if (keys.length === 0) {
        add(`[${described.key}]`, described);
      }
    }
  }
  return proposals;
}

function valueProposals(
  document: Document,
  slot: Slot,
  position: number,
  schema: Schema,
  paths: string[],
): Proposals | undefined {
  const described = schema.at(slot.path);
  const { scalar } = slot;
  if (!described && !isPin(slot.path)) {
    return undefined;
  }
  const alternatives = described?.alternatives ?? [];
  const isText = scalar?.type === "string";
  const quote = isText ? scalar.quote : '"';
  if (quote.length > 1) {
    return undefined;
  }
  const [from, to] = scalar && scalar.type !== "missing" ? [scalar.from, scalar.to] : [position, position];
  const proposals: Proposal[] = [];
  const lead = scalar?.type === "missing" && /[=,]$/.test(lastCharacter(slot, position)) ? " " : "";
  const add = (label: string, insert: string, description: string, rest: Partial<Proposal> = {}) =>
    proposals.push({
      label,
      insert: lead + insert,
      select: { from: lead.length + insert.length, to: lead.length + insert.length },
      kind: "value",
      detail: "",
      description,
      default: undefined,
      continues: false,
      required: false,
      ...rest,
    });
  for (const { value, description } of names(alternatives)) {
    if (!isText || typeof value === "string") {
      add(String(value), typeof value === "string" ? quote + value + quote : String(value), description);
    }
  }
  for (const { name, of } of references(document, slot.path)) {
    if (name !== scalar?.value) {
      add(name, quoted(name, quote), "", { detail: of });
    }
  }
  const pins = isPin(slot.path) ? paths : [];
  for (const path of pins) {
    add(path, quoted(path, quote), "");
  }
  for (const of of alternatives.map(quantity)) {
    const number = isText ? scalar.value.match(/^\s*([0-9._]+)/)?.[1] : undefined;
    for (const unit of number === undefined ? [] : (of?.units ?? [])) {
      add(`${number} ${unit}`, `${quote}${number} ${unit}${quote}`, "", { kind: "unit", detail: of?.name ?? "" });
    }
    if (of && !isText) {
      add(`"${of.example}"`, `"${of.example}"`, "", {
        detail: of.name,
        select: { from: lead.length + 1, to: lead.length + 1 + of.example.length },
      });
    }
  }
  if (!isText && alternatives.some(isTable) && scalar?.type !== "number") {
    // Choices with parameters: `{ red = { … } }`.
    for (const choice of schema.keys(alternatives.filter(isTable))) {
      const only = alternatives.filter(isTable).filter(({ schema: table }) => table.properties?.[choice.key]);
      if (only.every(({ schema: table }) => Object.keys(table.properties ?? {}).length === 1)) {
        const value = starter(choice);
        const head = `{ ${choice.key} = `;
        add(`{ ${choice.key} = … }`, `${head}${value.text} }`, choice.description, {
          kind: "table",
          select: { from: lead.length + head.length + value.from, to: lead.length + head.length + value.to },
          continues: value.continues,
        });
      }
    }
  }
  return proposals.length > 0 ? { from, to, proposals } : undefined;
}

/** A TOML string in these quotes, or in the other ones if the text needs that. */
function quoted(text: string, quote: string): string {
  return (quote === "'" && !text.includes("'")) || (text.includes('"') && !text.includes("'"))
    ? `'${text}'`
    : JSON.stringify(text);
}

/** What is before the place: a missing value begins directly behind `=` or further on. */
function lastCharacter(slot: Slot, position: number): string {
  return position === slot.from ? "=" : " ";
}

/** Whether this is the place of a path in `[lab] pins`. */
function isPin(path: Step[]): boolean {
  const [lab, pins, index, key, ...rest] = path;
  return (
    lab === "lab" && pins === "pins" && index !== undefined && (key === undefined || key === "key") && rest.length === 0
  );
}

/** What is written at a place: its key, its type and its meaning. */
export function hover(text: string, position: number, schema: Schema): Hover | undefined {
  const document = parse(text);
  const slot = slotAt(document, position);
  if (!slot?.word || slot.kind === "comment") {
    return undefined;
  }
  const place = { from: slot.from, to: slot.to };
  if (slot.kind === "key") {
    const described = schema.at([...slot.path, slot.word]);
    return described && { ...place, ...hoverOf(described, slot.word) };
  }
  const described = schema.at(slot.path);
  const named = described && names(described.alternatives).find(({ value }) => String(value) === slot.word);
  if (named?.description) {
    return {
      ...place,
      title: slot.word,
      type: "",
      description: named.description,
      default: undefined,
      required: false,
    };
  }
  const key = slot.path.findLast(step => typeof step === "string");
  return described?.description ? { ...place, ...hoverOf(described, String(key ?? "")) } : undefined;
}

function hoverOf(described: Described, title: string): Omit<Hover, "from" | "to"> {
  return {
    title,
    type: typeText(described.alternatives),
    description: described.description,
    default: defaultOf(described),
    required: described.required,
  };
}

function defaultOf(described: Described): string | undefined {
  const value = described.default;
  const isTold = /\bDefault:/.test(described.description);
  return value === undefined || value === null || isTold ? undefined : toml(value);
}

let latest: Schema | undefined;

/** The schema, with what was resolved before. */
export function schemaOf(root: JsonSchema): Schema {
  if (latest?.root !== root) {
    latest = new Schema(root);
  }
  return latest;
}
