// Figures of merit: of a run, its flows and its groups of flows.

import type { RunResult, Table } from "../engine/protocol";

export interface Row {
  name: string;
  group: string;
  kind: string;
  flows: number;
  goodput_bps: number;
  delay_mean_s: number;
  delay_p99_s: number;
  loss: number;
  packets_dropped: number;
  packets_marked: number;
}

export function numbersOf(table: Table, column: string): Float64Array {
  const found = table[column];
  return found instanceof Float64Array ? found : new Float64Array();
}

export function textsOf(table: Table, column: string): string[] {
  const found = table[column];
  return Array.isArray(found) ? found : [];
}

/** A row for each flow. */
export function flowRows(result: RunResult): Row[] {
  const { flows } = result;
  const column = (name: string) => numbersOf(flows, name);
  const at = (name: string, row: number) => column(name)[row] ?? Number.NaN;
  const groups = textsOf(flows, "group");
  const kinds = textsOf(flows, "kind");
  return textsOf(flows, "name").map((name, row) => ({
    name,
    group: groups[row] ?? name,
    kind: kinds[row] ?? "",
    flows: 1,
    goodput_bps: at("goodput_bps", row),
    delay_mean_s: at("delay_mean_s", row),
    delay_p99_s: at("delay_p99_s", row),
    loss: lossOf(at("packets_dropped", row), at("packets_delivered", row)),
    packets_dropped: at("packets_dropped", row),
    packets_marked: at("packets_marked", row),
  }));
}

/** Dropped packets among those that were dropped or delivered. */
export function lossOf(dropped: number, delivered: number): number {
  return dropped + delivered > 0 ? dropped / (dropped + delivered) : Number.NaN;
}

/**
 * A row for each group: sums of goodput, drops and marks. Delays are means over the delivered packets; the 99th
 * percentile comes from the histogram of the group.
 */
export function groupRows(result: RunResult): Row[] {
  const delivered = numbersOf(result.flows, "packets_delivered");
  const members = new Map<string, { row: Row; delivered: number }[]>();
  flowRows(result).forEach((row, i) => {
    members.set(row.group, [...(members.get(row.group) ?? []), { row, delivered: delivered[i] ?? 0 }]);
  });
  return [...members].map(([group, all]) => {
    const sum = (quantityOf: (row: Row) => number) => all.reduce((total, { row }) => total + quantityOf(row), 0);
    const packets = all.reduce((total, it) => total + it.delivered, 0);
    const weighted = all.reduce((total, it) => total + (it.delivered > 0 ? it.row.delay_mean_s * it.delivered : 0), 0);
    const dropped = sum(it => it.packets_dropped);
    return {
      name: group,
      group,
      kind: all[0]?.row.kind ?? "",
      flows: all.length,
      goodput_bps: sum(it => it.goodput_bps),
      delay_mean_s: packets > 0 ? weighted / packets : Number.NaN,
      delay_p99_s: percentileOf(result.delays, group, 0.99),
      loss: lossOf(dropped, packets),
      packets_dropped: dropped,
      packets_marked: sum(it => it.packets_marked),
    };
  });
}

/** The delay that this share of the packets of a group does not exceed. */
export function percentileOf(delays: Table, group: string, share: number): number {
  const groups = textsOf(delays, "group");
  const delays_s = numbersOf(delays, "delay_s");
  const packets = numbersOf(delays, "packets");
  const rows = groups.flatMap((name, row) => (name === group ? [row] : []));
  const all = rows.reduce((sum, row) => sum + (packets[row] ?? 0), 0);
  let sum = 0;
  for (const row of rows) {
    sum += packets[row] ?? 0;
    if (sum >= share * all) {
      return delays_s[row] ?? Number.NaN;
    }
  }
  return Number.NaN;
}

/** Jain's index of fairness. */
export function jainOf(values: readonly number[]): number {
  const sum = values.reduce((total, it) => total + it, 0);
  const squares = values.reduce((total, it) => total + it * it, 0);
  return squares > 0 ? (sum * sum) / (values.length * squares) : Number.NaN;
}

export interface Figures {
  utilization: number;
  jain: number;
  wait_mean_s: number;
  length_max_packets: number;
  loss: number;
  marked: number;
}

/** The figures of the run as a whole: of the one of these queues, or of all, that is longest. */
export function figuresOfRun(result: RunResult, chosen: readonly string[]): Figures {
  const { queues } = result;
  const names = textsOf(queues, "name");
  const waits = numbersOf(queues, "wait_mean_s");
  const lengths = numbersOf(queues, "length_mean_bytes");
  const wanted = names.flatMap((name, row) => (chosen.includes(name) ? [row] : []));
  const isEmpty = wanted.every(it => !((lengths[it] ?? 0) > 0));
  const pool = isEmpty ? names.map((_, row) => row) : wanted;
  const row = pool.reduce((best, it) => ((lengths[it] ?? 0) > (lengths[best] ?? 0) ? it : best), pool[0] ?? -1);
  const at = (column: string) => numbersOf(queues, column)[row] ?? Number.NaN;
  const link = textsOf(result.links, "name").indexOf(names[row] ?? "");
  const rates = flowRows(result)
    .filter(it => !it.name.endsWith("/request"))
    .map(it => it.goodput_bps);
  return {
    utilization: numbersOf(result.links, "utilization")[link] ?? Number.NaN,
    jain: rates.length > 1 ? jainOf(rates) : Number.NaN,
    wait_mean_s: waits[row] ?? Number.NaN,
    length_max_packets: at("length_max_packets"),
    loss: at("packets_arrived") > 0 ? at("packets_dropped") / at("packets_arrived") : Number.NaN,
    marked: at("packets_marked"),
  };
}

/** Drops by reason over these queues, or over all. */
export function reasonsOf(result: RunResult, chosen: readonly string[]): { name: string; packets: number }[] {
  const names = textsOf(result.queues, "name");
  const wanted = new Set(names.some(it => chosen.includes(it)) ? chosen : names);
  return Object.keys(result.queues)
    .filter(it => it.startsWith("dropped_"))
    .map(column => ({
      name: column.slice("dropped_".length).replaceAll("_", " "),
      packets: names.reduce(
        (sum, name, row) => sum + (wanted.has(name) ? (numbersOf(result.queues, column)[row] ?? 0) : 0),
        0,
      ),
    }))
    .filter(it => it.packets > 0)
    .sort((a, b) => b.packets - a.packets);
}
