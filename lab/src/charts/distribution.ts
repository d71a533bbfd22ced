// Distributions of delays from the table `delays`.

import type { Table } from "../engine/protocol";
import { type ChartModel, emptyModel } from "./model";

/** Values that differ by more than this factor are drawn on a logarithmic axis. */
const SPREAD = 20;

interface Distribution {
  name: string;
  delays_s: number[];
  shares: number[];
}

/** The share of packets with no more than each delay, by the column `by`. */
export function distributionsOf(table: Table, by: string): Distribution[] {
  const names = table[by] as string[] | undefined;
  const delays = table.delay_s as Float64Array | undefined;
  const packets = table.packets as Float64Array | undefined;
  if (!names || !delays || !packets) {
    return [];
  }
  const found = new Map<string, { delays_s: number[]; counts: number[] }>();
  names.forEach((name, row) => {
    const one = found.get(name) ?? { delays_s: [], counts: [] };
    found.set(name, one);
    one.delays_s.push(delays[row] as number);
    one.counts.push(packets[row] as number);
  });
  return [...found].map(([name, { delays_s, counts }]) => {
    const all = counts.reduce((sum, count) => sum + count, 0);
    let sum = 0;
    const shares = counts.map(count => {
      sum += count;
      return sum / all;
    });
    return { name, delays_s, shares };
  });
}

/** A chart of distributions: all lines are steps over common delays. */
export function distributionModel(table: Table, by: string, lookOf: (name: string) => number): ChartModel {
  const model = emptyModel("Delay of packets", "delay_s", "share_of_packets");
  const found = distributionsOf(table, by);
  const delays = Float64Array.from(new Set(found.flatMap(it => it.delays_s))).sort();
  const least = delays[0];
  const most = delays.at(-1);
  if (least === undefined || most === undefined) {
    return model;
  }
  const isLog = least > 0 && most > SPREAD * least;
  // The lines begin at a share of zero, a step before the first delay.
  const start = isLog ? least * 0.97 : 0;
  model.xs = Float64Array.of(start, ...delays);
  model.xIsLog = isLog;
  model.xRange = [start, most];
  model.isStepped = true;
  model.yMax = 1;
  model.lines = found.map(one => {
    const values = new Float64Array(model.xs.length);
    let at = 0;
    delays.forEach((delay, i) => {
      while (at < one.delays_s.length && (one.delays_s[at] as number) <= delay) {
        at += 1;
      }
      values[i + 1] = at > 0 ? (one.shares[at - 1] as number) : 0;
    });
    return { key: `group ${one.name}`, label: one.name, values, look: lookOf(one.name) };
  });
  return model;
}
