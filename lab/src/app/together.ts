// The charts of several disciplines as one.

import { type ChartLine, type ChartModel, largestOf } from "../charts/model";
import { COLORS } from "../charts/palette";

/** More lines than these are told apart better in charts of their own. */
const MOST_LINES = 9;
const MOST_LINES_EACH = 3;

/**
 * One chart for the charts of the same quantity; undefined where it would have too many lines. With one line each, the
 * disciplines have colors; with several, lines keep their colors, and the disciplines have dashes.
 */
export function together(
  columns: readonly (ChartModel | undefined)[],
  labels: readonly string[],
): ChartModel | undefined {
  const models = columns.filter(it => it !== undefined);
  const first = models[0];
  const counts = models.map(it => it.lines.length);
  const most = Math.max(0, ...counts);
  const all = counts.reduce((sum, it) => sum + it, 0);
  if (!first || most > MOST_LINES_EACH || all > MOST_LINES) {
    return undefined;
  }
  const xs = Float64Array.from(new Set(models.flatMap(it => [...it.xs]))).sort();
  const lines = columns.flatMap((model, column) =>
    (model?.lines ?? []).map((line): ChartLine => {
      const label = labels[column] ?? "";
      return {
        ...line,
        key: `${label} ${line.key}`,
        label: most > 1 ? `${label}: ${line.label}` : label,
        look: most > 1 ? (line.look % COLORS) + COLORS * column : column,
        values: valuesAt(xs, model?.xs ?? xs, line.values, first.isStepped && first.xQuantity !== "time_s"),
      };
    }),
  );
  const fronts = models.flatMap(it => (it.front === undefined ? [] : [it.front]));
  return {
    ...first,
    xs,
    lines,
    // The chart is complete up to where all runs are.
    front: fronts.length > 0 ? Math.min(...fronts) : undefined,
    yMax: Math.max(...models.map(it => it.yMax ?? largestOf(it.lines))),
    bands: [],
  };
}

/** The values at other places. A distribution holds its value up to the next one; a series is missing in between. */
function valuesAt(xs: Float64Array, own: Float64Array, values: Float64Array, isHeld: boolean): Float64Array {
  if (xs.length === own.length) {
    return values;
  }
  let at = -1;
  return xs.map(x => {
    while (at + 1 < own.length && (own[at + 1] as number) <= x) {
      at += 1;
    }
    if (at < 0) {
      return isHeld ? 0 : Number.NaN;
    }
    return isHeld || own[at] === x ? (values[at] as number) : Number.NaN;
  });
}
