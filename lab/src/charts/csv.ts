import type { ChartModel } from "./model";

/** The values of a chart as CSV: x and a column for each line, in the units that their names end in. */
export function csvOf(model: ChartModel): string {
  const head = [model.xQuantity, ...model.lines.map(it => `${it.label} ${model.yQuantity}`)].map(quoted);
  const rows = Array.from(model.xs, (x, row) => [numberOf(x), ...model.lines.map(it => numberOf(it.values[row]))]);
  return `${[head, ...rows].map(it => it.join(",")).join("\n")}\n`;
}

/** Digits beyond these come from sums of intervals. */
function numberOf(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? "" : String(Number(value.toPrecision(12)));
}

/** A program for tables takes a text that begins with one of these for a formula. */
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
