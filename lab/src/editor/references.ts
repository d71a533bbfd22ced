// Names that other parts of the scenario define: flows, hosts, nodes.

import { type Document, entryOf, type Node, nodeAt, type Step } from "./toml";

export interface Reference {
  name: string;
  of: string;
}

/** The names to which the value at a path may refer. */
export function references(document: Document, path: Step[]): Reference[] {
  // Indices are of no interest here: `flows.*.from` and `flows.*.from.*` take the same names.
  const place = path.map(step => (typeof step === "number" ? "*" : step)).join(".");
  const of = (kind: string, names: string[]) => [...new Set(names)].map(name => ({ name, of: kind }));
  if (/^(flows\.\*\.hosts_of|probes\.senders\.\*|probes\.flow_gauges\.\*\.flows\.\*)$/.test(place)) {
    const own = nodeAt(document, path.slice(0, 2));
    const flows = items(document, ["flows"]).filter(item => item !== own);
    return of("group of flows", flows.flatMap(nameOf));
  }
  if (/^flows\.\*\.(from|to)(\.\*)?$/.test(place)) {
    return of("host", hosts(document));
  }
  if (/^topology\.graph\.links\.\*\.(from|to)$/.test(place)) {
    return of("node", items(document, ["topology", "graph", "nodes"]).flatMap(nameOf));
  }
  if (/^topology\.ethernet\.trunks\.\*\.\*$/.test(place)) {
    return of("switch", items(document, ["topology", "ethernet", "switches"]).flatMap(nameOf));
  }
  if (place === "topology.ethernet.service.*.node") {
    return of("node", hosts(document));
  }
  return [];
}

function hosts(document: Document): string[] {
  const listed = [
    ["graph", "nodes"],
    ["home", "hosts"],
    ["home", "servers"],
  ];
  const nodes = listed.flatMap(keys => items(document, ["topology", ...keys]));
  const switches = items(document, ["topology", "ethernet", "switches"]);
  const connected = switches.flatMap(item => (item.kind === "table" ? itemsOf(entryOf(item, "nodes")?.node) : []));
  return [...nodes.filter(isHost), ...connected].flatMap(nameOf);
}

/** Nodes of a graph are hosts unless their kind says otherwise. */
function isHost(node: Node): boolean {
  const kind = node.kind === "table" ? entryOf(node, "kind")?.node : undefined;
  return kind === undefined || (kind.kind === "scalar" && kind.value === "host");
}

function items(document: Document, path: Step[]): Node[] {
  return itemsOf(nodeAt(document, path));
}

function itemsOf(node: Node | undefined): Node[] {
  return node?.kind === "list" ? node.items : [];
}

function nameOf(node: Node): string[] {
  const name = node.kind === "table" ? entryOf(node, "name")?.node : node;
  return name?.kind === "scalar" && name.type === "string" && name.value !== "" ? [name.value] : [];
}
