// The series of a run while it goes on.

import type { Series, SeriesPart } from "../engine/protocol";

/** A series of which the first `filled` values are of this run. Values after them are of the run before, or NaN. */
export interface Trace {
  kind: string;
  name: string;
  quantity: string;
  start_s: number;
  interval_s: number;
  values: Float64Array;
  filled: number;
  states: string[];
}

const LEAST_CAPACITY = 64;
const MOST_EXPECTED = 100_000;

function keyOf(part: { kind: string; name: string; quantity: string }): string {
  return `${part.kind}\n${part.name}\n${part.quantity}`;
}

/** Collects the parts of series. It begins with the values of the run before, so that charts sweep over them. */
export class Recording {
  readonly traces = new Map<string, Trace>();
  readonly duration_s: number;
  readonly #before: ReadonlyMap<string, Trace>;

  constructor(duration_s: number, before?: Recording) {
    this.duration_s = duration_s;
    this.#before = before?.duration_s === duration_s ? before.traces : new Map();
  }

  /** The time up to which there are values of this run. */
  get front_s(): number {
    let front = 0;
    for (const trace of this.traces.values()) {
      if (trace.filled > 0) {
        front = Math.max(front, trace.start_s + (trace.filled - 1) * trace.interval_s);
      }
    }
    return front;
  }

  add(parts: readonly SeriesPart[]): void {
    for (const part of parts) {
      const trace = this.#traceOf(part);
      const end = part.first + part.values.length;
      if (end > trace.values.length) {
        const grown = new Float64Array(Math.max(end, 2 * trace.values.length)).fill(Number.NaN);
        grown.set(trace.values);
        trace.values = grown;
      }
      trace.values.set(part.values, part.first);
      trace.filled = Math.max(trace.filled, end);
    }
  }

  /** Takes the series of the result in place of all parts. */
  finish(series: readonly Series[]): void {
    this.traces.clear();
    for (const one of series) {
      this.traces.set(keyOf(one), { ...one, filled: one.values.length });
    }
  }

  find(kind: string, quantity: string): Trace[] {
    return [...this.traces.values()].filter(it => it.kind === kind && it.quantity === quantity);
  }

  #traceOf(part: SeriesPart): Trace {
    const key = keyOf(part);
    const known = this.traces.get(key);
    if (known) {
      return known;
    }
    const old = this.#before.get(key);
    const fits = old !== undefined && old.start_s === part.start_s && old.interval_s === part.interval_s;
    const expected = Math.floor((this.duration_s - part.start_s) / part.interval_s + 1.000001);
    const capacity = Math.min(Math.max(expected, LEAST_CAPACITY), MOST_EXPECTED);
    const trace: Trace = {
      kind: part.kind,
      name: part.name,
      quantity: part.quantity,
      start_s: part.start_s,
      interval_s: part.interval_s,
      values: fits ? old.values.slice() : new Float64Array(capacity).fill(Number.NaN),
      filled: 0,
      states: part.states,
    };
    this.traces.set(key, trace);
    return trace;
  }
}
