// The range and the stops of a slider.

import type { Bounds } from "../editor/schema";
import type { Pin, Value } from "../engine/protocol";
import { expressible, readBound, readNumber, rounded } from "./quantity";

export interface Range {
  from: number;
  to: number;
  isLogarithmic: boolean;
  isIntegral: boolean;
  /** The numbers at which the slider stops, in ascending order; the first is `from`, the last `to`. */
  stops: number[];
}

/** From this ratio of its ends on, a range is logarithmic. */
const LOGARITHMIC_FROM = 20;

/** Keys whose values are shares or probabilities, where the schema has no bound. */
const SHARE = /(^|[._])(probability|share|fraction|loss|correlation|duty|drop_rate)$/;

/** The range of a slider: that of its pin; otherwise from a tenth of the number to ten times it, within the bounds. */
export function rangeOf(value: Value, pin: Pin | undefined, bounds?: Bounds): Range {
  const { number, unit, path } = value;
  const read = readNumber(value.text);
  const isIntegral = unit === "" && bounds ? bounds.integral : (read?.isIntegral ?? false);
  const own = unit === "" ? bounds : undefined;
  const most =
    own?.most ?? (unit === "" && !isIntegral && number <= 1 && SHARE.test(path) ? 1 : Number.POSITIVE_INFINITY);
  const least = Math.max(
    own?.least ?? (number < 0 ? Number.NEGATIVE_INFINITY : 0),
    unit === "" ? Number.NEGATIVE_INFINITY : 0,
  );
  const [low, high] = around(number, isIntegral, most);
  let from = bound(pin?.from, unit) ?? Math.max(low, least);
  let to = bound(pin?.to, unit) ?? Math.min(high, most);
  // One bound of a pin may be on the other side of the default one.
  if (pin?.from !== undefined && pin.to === undefined && to <= from) {
    to = Math.min(from > 0 ? from * 10 : from + 1, Math.max(most, from));
  } else if (pin?.to !== undefined && pin.from === undefined && from >= to) {
    from = to > 0 ? to / 10 : to - 1;
  }
  if (from > to) {
    [from, to] = [to, from];
  }
  const shape = (limit: number) => (isIntegral ? Math.round(limit) : expressible(limit, unit));
  from = shape(from);
  to = shape(to);
  const isLogarithmic = from > 0 && to / from >= LOGARITHMIC_FROM;
  const inside = (isLogarithmic ? logarithmicStops : linearStops)(from, to).map(shape);
  const all = [from, to, ...inside, ...(number > from && number < to ? [number] : [])];
  const stops = [...new Set(all)].filter(stop => stop >= from && stop <= to).sort((one, other) => one - other);
  return { from, to, isLogarithmic, isIntegral, stops };
}

function bound(text: string | undefined, unit: string): number | undefined {
  return text === undefined ? undefined : readBound(text, unit);
}

/** A tenth of the number to ten times it. */
function around(number: number, isIntegral: boolean, most: number): [number, number] {
  if (number === 0) {
    return [0, Math.min(isIntegral ? 10 : 1, most)];
  }
  if (number < 0) {
    return [number * 10, number / 10];
  }
  const low = rounded(number / 10);
  return [isIntegral ? Math.max(1, Math.floor(low)) : low, rounded(number * 10)];
}

/** Round numbers, 75 in each decade: 1, 1.05, … 2, 2.1, … 5, 5.2, … 10. */
function logarithmicStops(from: number, to: number): number[] {
  const stops: number[] = [];
  for (let decade = Math.floor(Math.log10(from)); decade <= Math.log10(to); decade += 1) {
    const unit = 10 ** decade;
    for (const [first, last, step] of [
      [100, 200, 5],
      [200, 500, 10],
      [500, 1000, 20],
    ] as const) {
      for (let hundredths = first; hundredths < last; hundredths += step) {
        stops.push(rounded((hundredths / 100) * unit));
      }
    }
  }
  return stops;
}

/** Multiples of a round step, about a hundred of them. */
function linearStops(from: number, to: number): number[] {
  if (to <= from) {
    return [];
  }
  const rough = (to - from) / 100;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = rounded(unit * ([1, 2, 5].find(factor => factor * unit >= rough * 0.999) ?? 10));
  const stops: number[] = [];
  for (let index = Math.ceil(from / step); index * step <= to; index += 1) {
    stops.push(rounded(index * step));
  }
  return stops;
}

/** The index of the stop that is nearest to a number. */
export function nearestStop({ stops, isLogarithmic }: Range, number: number): number {
  const distance = (stop: number) =>
    isLogarithmic && number > 0 ? Math.abs(Math.log(stop / number)) : Math.abs(stop - number);
  let nearest = 0;
  for (const [index, stop] of stops.entries()) {
    if (distance(stop) < distance(stops[nearest] ?? 0)) {
      nearest = index;
    }
  }
  return nearest;
}

/** Whether the range is that of this number, which may have been changed elsewhere. */
export function covers({ from, to }: Range, number: number): boolean {
  return number >= from && number <= to;
}
