// The content of a chart, apart from how it is drawn.

import type { Trace } from "./recording";

export interface ChartLine {
  /** Equal keys in several charts are hidden and shown together. */
  key: string;
  label: string;
  values: Float64Array;
  /** The number of its look. */
  look: number;
  width?: number;
}

/** A time span with a colour of its own. */
export interface Band {
  from: number;
  to: number;
  label: string;
  color: string;
}

export interface ChartModel {
  title: string;
  /** The quantity of the x axis, such as `time_s`, and that of the y axis. */
  xQuantity: string;
  yQuantity: string;
  xs: Float64Array;
  lines: ChartLine[];
  xRange: [from: number, to: number];
  xIsLog: boolean;
  /** The largest value of the y axis; undefined: that of the lines. */
  yMax: number | undefined;
  /** Lines are steps: a value holds up to the next one. */
  isStepped: boolean;
  /** The end of the warm-up, which tables leave out. */
  shadedTo: number;
  /** The time up to which the run came. */
  front: number | undefined;
  bands: Band[];
  note: string | undefined;
  /** What is drawn, where the title does not say it. */
  hint?: string;
}

export function emptyModel(title: string, xQuantity: string, yQuantity: string): ChartModel {
  return {
    title,
    xQuantity,
    yQuantity,
    xs: new Float64Array(),
    lines: [],
    xRange: [0, 1],
    xIsLog: false,
    yMax: undefined,
    isStepped: false,
    shadedTo: 0,
    front: undefined,
    bands: [],
    note: undefined,
  };
}

export function largestOf(lines: readonly ChartLine[]): number {
  let largest = 0;
  for (const line of lines) {
    for (const value of line.values) {
      if (value > largest) {
        largest = value;
      }
    }
  }
  return largest;
}

/** Puts traces onto common times. Those of a run have equal times, except where a series began later. */
export function aligned(traces: readonly Trace[]): { xs: Float64Array; values: Float64Array[] } {
  const first = traces[0];
  if (!first) {
    return { xs: new Float64Array(), values: [] };
  }
  if (traces.every(it => it.interval_s === first.interval_s)) {
    const start = Math.min(...traces.map(it => it.start_s));
    const offsets = traces.map(it => Math.round((it.start_s - start) / first.interval_s));
    const length = Math.max(...traces.map((it, i) => (offsets[i] as number) + it.values.length));
    const xs = Float64Array.from({ length }, (_, i) => start + i * first.interval_s);
    const values = traces.map((it, i) => {
      if (it.values.length === length) {
        return it.values;
      }
      const placed = new Float64Array(length).fill(Number.NaN);
      placed.set(it.values, offsets[i] as number);
      return placed;
    });
    return { xs, values };
  }
  const times = traces.map(it => Float64Array.from(it.values, (_, i) => it.start_s + i * it.interval_s));
  const xs = Float64Array.from(new Set(times.flatMap(it => [...it]))).sort();
  const values = traces.map((it, line) => {
    const own = times[line] as Float64Array;
    const placed = new Float64Array(xs.length).fill(Number.NaN);
    let at = 0;
    xs.forEach((x, i) => {
      while (at + 1 < own.length && (own[at + 1] as number) <= x) {
        at += 1;
      }
      placed[i] = x >= (own[0] ?? Number.POSITIVE_INFINITY) ? (it.values[at] as number) : Number.NaN;
    });
    return placed;
  });
  return { xs, values };
}

/** A series with longer intervals: sums of counts, maxima of maxima, and means of all else. */
export function merged(trace: Trace, factor: number): Trace {
  if (factor <= 1) {
    return trace;
  }
  const { quantity } = trace;
  const length = Math.ceil(trace.values.length / factor);
  const values = Float64Array.from({ length }, (_, i) => {
    const part = trace.values.subarray(i * factor, (i + 1) * factor).filter(it => !Number.isNaN(it));
    const sum = part.reduce((total, it) => total + it, 0);
    if (part.length === 0) {
      return Number.NaN;
    }
    if (quantity.includes("_max_")) {
      return part.reduce((most, it) => Math.max(most, it));
    }
    return quantity.startsWith("packets_") || quantity === "dropped_packets" ? sum : sum / part.length;
  });
  // Values of a run have the time of the end of their interval, those of a replay that of its beginning.
  const start_s = trace.start_s > 0 ? trace.start_s + (factor - 1) * trace.interval_s : trace.start_s;
  const filled = Math.ceil(trace.filled / factor);
  return { ...trace, values, start_s, filled, interval_s: trace.interval_s * factor };
}

/** The sum of several arrays of one length. A value that is missing everywhere is missing in the sum. */
export function summed(parts: readonly Float64Array[]): Float64Array {
  const length = Math.max(0, ...parts.map(it => it.length));
  const sum = new Float64Array(length).fill(Number.NaN);
  for (const part of parts) {
    part.forEach((value, i) => {
      if (!Number.isNaN(value)) {
        const before = sum[i] as number;
        sum[i] = Number.isNaN(before) ? value : before + value;
      }
    });
  }
  return sum;
}

/** The mean of several arrays of one length, of the values that are there. */
export function averaged(parts: readonly Float64Array[]): Float64Array {
  const counts = summed(parts.map(part => part.map(it => (Number.isNaN(it) ? Number.NaN : 1))));
  return summed(parts).map((sum, i) => sum / (counts[i] as number));
}

/** Rows of a table that shows the lines: at most so many, at equal distances. */
export function sampledRows(count: number, most: number): number[] {
  if (count <= most) {
    return Array.from({ length: count }, (_, i) => i);
  }
  return Array.from({ length: most }, (_, i) => Math.round((i * (count - 1)) / (most - 1)));
}

/** The kinds of bands, each once. */
export function bandKinds(bands: readonly Band[]): { label: string; color: string }[] {
  const colors = new Map(bands.map(it => [it.label.replaceAll("_", " "), it.color]));
  return [...colors].map(([label, color]) => ({ label, color }));
}

/** The periods of a series of states, by its values. */
export function periodsOf(
  trace: Trace,
  colorOf: (state: string) => string,
): { from: number; to: number; label: string; color: string }[] {
  const bands: Band[] = [];
  for (let i = 0; i < trace.filled; i += 1) {
    const state = trace.states[trace.values[i] as number];
    if (state === undefined) {
      continue;
    }
    const from = trace.start_s + i * trace.interval_s;
    const last = bands.at(-1);
    if (last && last.label === state && from - last.to < trace.interval_s / 2) {
      last.to = from + trace.interval_s;
    } else {
      bands.push({ from, to: from + trace.interval_s, label: state, color: colorOf(state) });
    }
  }
  return bands.filter(it => it.color !== "");
}

/** A range around `center`, which keeps its place, within the whole; undefined for the whole. */
export function zoomed(
  range: [number, number],
  center: number,
  factor: number,
  whole: [number, number],
): [number, number] | undefined {
  const from = Math.max(whole[0], center - (center - range[0]) * factor);
  const to = Math.min(whole[1], center + (range[1] - center) * factor);
  return from <= whole[0] && to >= whole[1] ? undefined : [from, to];
}
