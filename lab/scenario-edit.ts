// Changes of values in the text of a scenario. Comments and layout stay as they are.

import { type AST, getStaticTOMLValue, parseTOML } from "toml-eslint-parser";

/** A key of the text with its value, and the path of the value. */
interface Entry {
  path: string[];
  node: AST.TOMLKeyValue;
  /** The path of the table or inline table in which the key is written. */
  within: string[];
}

/** A table whose keys follow its header, or the whole file. */
interface Section {
  path: string[];
  node: AST.TOMLTopLevelTable | AST.TOMLTable;
}

type Data = { [key: string]: Data } | Data[] | string | number | boolean | Date;

function tomlOf(value: unknown): string {
  if (typeof value !== "string") {
    return String(value);
  }
  return /^[[{"']/.test(value) ? value : JSON.stringify(value);
}

function namesOf(key: AST.TOMLKey): string[] {
  return key.keys.map(it => (it.type === "TOMLBare" ? it.name : String(it.value)));
}

function keyText(names: readonly string[]): string {
  return names.map(it => (/^[\w-]+$/.test(it) ? it : JSON.stringify(it))).join(".");
}

/** Puts the names of elements in place of their numbers: `flows.0.count` is `flows.tcp.count`. */
function named(path: readonly (string | number)[], data: Data): string[] {
  let place: Data | undefined = data;
  return path.map(key => {
    place = (place as Record<string | number, Data> | undefined)?.[key];
    const name = typeof key === "number" ? (place as { name?: Data } | undefined)?.name : undefined;
    return typeof name === "string" ? name : String(key);
  });
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((it, i) => path[i] === it);
}

function outline(text: string): { entries: Entry[]; sections: Section[] } {
  const program = parseTOML(text);
  const data = getStaticTOMLValue(program) as Data;
  const top = program.body[0];
  const entries: Entry[] = [];
  const sections: Section[] = [{ path: [], node: top }];
  const add = (node: AST.TOMLKeyValue, within: string[]) => {
    const path = [...within, ...namesOf(node.key)];
    entries.push({ path, node, within });
    addValue(node.value, path);
  };
  const addValue = (value: AST.TOMLContentNode, path: string[]) => {
    if (value.type === "TOMLInlineTable") {
      for (const inner of value.body) {
        add(inner, path);
      }
    } else if (value.type === "TOMLArray") {
      value.elements.forEach((element, i) => {
        const name = (getStaticTOMLValue(element) as { name?: unknown }).name;
        addValue(element, [...path, typeof name === "string" ? name : String(i)]);
      });
    }
  };
  for (const node of top.body) {
    if (node.type === "TOMLKeyValue") {
      add(node, []);
    } else {
      const path = named(node.resolvedKey, data);
      sections.push({ path, node });
      for (const inner of node.body) {
        add(inner, path);
      }
    }
  }
  return { entries, sections };
}

function replaced(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}

/** Removes the line of a node that has one for itself. */
function withoutLine(text: string, node: AST.TOMLKeyValue): string {
  const start = text.lastIndexOf("\n", node.range[0]) + 1;
  const end = text.indexOf("\n", node.range[1]);
  return replaced(text, start, end < 0 ? text.length : end + 1, "");
}

function setValue(text: string, target: readonly string[], value: string): string {
  const { entries, sections } = outline(text);
  const own = entries.find(it => it.path.length === target.length && startsWith(it.path, target));
  if (own) {
    return replaced(text, own.node.value.range[0], own.node.value.range[1], value);
  }
  // Dotted keys below the target, such as `queue.red = …` where the target is the queue.
  const below = entries.filter(it => startsWith(it.path, target) && it.within.length < target.length);
  const first = below[0];
  if (first) {
    const rest = below.slice(1).reverse();
    const cleared = rest.reduce((left, it) => withoutLine(left, it.node), text);
    const key = keyText(target.slice(first.within.length));
    return replaced(cleared, first.node.range[0], first.node.range[1], `${key} = ${value}`);
  }
  const parent = target.slice(0, -1);
  const line = `${keyText(target.slice(-1))} = ${value}`;
  const inline = entries.find(it => it.path.length === parent.length && startsWith(it.path, parent))?.node.value;
  if (inline?.type === "TOMLInlineTable") {
    const last = inline.body.at(-1);
    return last
      ? replaced(text, last.range[1], last.range[1], `, ${line}`)
      : replaced(text, inline.range[0], inline.range[1], `{ ${line} }`);
  }
  const section = sections.find(it => it.path.length === parent.length && startsWith(it.path, parent));
  const last = section?.node.body.filter(it => it.type === "TOMLKeyValue").at(-1);
  if (!last) {
    throw new Error(`the scenario has no table ${parent.join(".")}`);
  }
  return replaced(text, last.range[1], last.range[1], `\n${line}`);
}

/** Returns the scenario with these values, each at the path of its key: `flows.tcp.count`. */
export function withValues(text: string, values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values).reduce(
    (changed, [path, value]) => setValue(changed, path.split("."), tomlOf(value)),
    text,
  );
}

/** Returns the value at a path as TOML has it; undefined where there is none. */
export function valueAt(text: string, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (place, key) => {
      const table = Array.isArray(place) ? place.find(it => it.name === key) : place;
      return Array.isArray(place) ? table : (table as Record<string, unknown> | undefined)?.[key];
    },
    getStaticTOMLValue(parseTOML(text)),
  );
}
