// Paths as in overrides: `flows.tcp.count`.

import { type Document, entryOf, type List, type Node, nodeAt, type Step } from "./toml";

/** Splits `flows."a.b".count` at its dots, as overrides do: a part in double quotes may have dots itself. */
export function splitPath(path: string): string[] {
  return (path.match(/(?:"[^"]*"|[^."])+|(?<=\.)(?=\.|$)/g) ?? []).map(part => {
    const trimmed = part.trim();
    return /^".*"$/.test(trimmed) ? trimmed.slice(1, -1) : trimmed;
  });
}

/** The node at a path as in an override: elements of lists by their names, or by numbers from 0. */
export function resolve(document: Document, path: string): Node | undefined {
  const steps: Step[] = [];
  let node: Node | undefined = document.root;
  for (const key of splitPath(path)) {
    if (node?.kind === "table") {
      steps.push(key);
    } else if (node?.kind === "list") {
      const named = indexOf(node, key);
      steps.push(named >= 0 ? named : /^\d+$/.test(key) ? Number(key) : -1);
    }
    node = nodeAt(document, steps);
  }
  return steps.length > 0 ? node : undefined;
}

const indices = new WeakMap<List, Map<string, number>>();

/** The first element of a list with this name, or -1. */
function indexOf(list: List, name: string): number {
  let index = indices.get(list);
  if (!index) {
    index = new Map();
    for (const [position, item] of list.items.entries()) {
      const own = nameOf(item);
      if (own !== undefined && !index.has(own)) {
        index.set(own, position);
      }
    }
    indices.set(list, index);
  }
  return index.get(name) ?? -1;
}

/** The name by which a path refers to an element of a list: links of a graph are `from->to`. */
function nameOf(node: Node): string | undefined {
  if (node.kind !== "table") {
    return undefined;
  }
  const text = (key: string) => {
    const value = entryOf(node, key)?.node;
    return value?.kind === "scalar" && value.type === "string" ? value.value : undefined;
  };
  const [from, to] = [text("from"), text("to")];
  return text("name") ?? (from !== undefined && to !== undefined ? `${from}->${to}` : undefined);
}
