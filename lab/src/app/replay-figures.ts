// The charts and rows of a replayed capture.

import { distributionModel } from "../charts/distribution";
import { aligned, type ChartModel, emptyModel, largestOf, merged } from "../charts/model";
import { titleOf } from "../charts/units";
import type { ReplayResult, Series } from "../engine/protocol";
import type { PivotRow } from "./pivot-table";
import { lossOf, numbersOf, textsOf } from "./summary";

const FIRST = ["length_mean_packets", "delay_mean_s", "delivered_bps", "packets_dropped", "packets_marked"];
const LEFT_OUT = new Set(["offered_bps", "length_mean_bytes"]);
const TITLES: Record<string, string> = {
  length_max_packets: "Longest queue",
  length_mean_packets: "Queue length",
  delay_max_s: "Longest delay",
  delay_mean_s: "Queueing delay",
  delivered_bps: "Delivered and offered",
  packets_dropped: "Drops per interval",
  packets_marked: "Marks per interval",
};

/** The labels of the queues in their order. */
function queueLabels(result: ReplayResult): string[] {
  return textsOf(result.queues, "queue");
}

/** More points than this in the shown time are merged. */
const MOST_POINTS = 400;

/** A chart of each quantity, with a line for each queue. Quantities that stay zero are left out. */
export function replayModels(
  result: ReplayResult,
  shown: [number, number] | undefined,
): { first: ChartModel[]; more: ChartModel[] } {
  const labels = queueLabels(result);
  const byQuantity = new Map<string, Series[]>();
  for (const one of result.series) {
    byQuantity.set(one.quantity, [...(byQuantity.get(one.quantity) ?? []), one]);
  }
  const quantities = [...FIRST, ...byQuantity.keys()].filter(it => byQuantity.has(it) && !LEFT_OUT.has(it));
  const models = [...new Set(quantities)].map(quantity => {
    const series = [...(byQuantity.get(quantity) ?? [])];
    series.sort((a, b) => labels.indexOf(a.name) - labels.indexOf(b.name));
    const offered = quantity === "delivered_bps" ? (byQuantity.get("offered_bps") ?? []).slice(0, 1) : [];
    const drawn = [...series, ...offered];
    const span = shown ? shown[1] - shown[0] : result.duration_s;
    const { xs, values } = aligned(
      drawn.map(it => merged({ ...it, filled: it.values.length }, Math.ceil(span / it.interval_s / MOST_POINTS))),
    );
    const model: ChartModel = {
      ...emptyModel(TITLES[quantity] ?? titleOf(quantity), "time_s", quantity),
      xs,
      xRange: [0, result.duration_s],
      isStepped: quantity.startsWith("packets_"),
      lines: drawn.map((it, i) => ({
        key: i < series.length ? `queue ${it.name}` : "offered",
        label: i < series.length ? it.name : "offered",
        values: values[i] as Float64Array,
        look: i < series.length ? Math.max(0, labels.indexOf(it.name)) : OFFERED_LOOK,
        ...(i < series.length ? {} : { width: 1 }),
      })),
    };
    return { quantity, model };
  });
  const filled = models.filter(it => largestOf(it.model.lines) > 0);
  return {
    first: filled.filter(it => FIRST.includes(it.quantity)).map(it => it.model),
    more: filled.filter(it => !FIRST.includes(it.quantity)).map(it => it.model),
  };
}

/** The black line of the palette. */
const OFFERED_LOOK = 6;

export function replayDelays(result: ReplayResult): ChartModel {
  const labels = queueLabels(result);
  return distributionModel(result.delays, "queue", name => Math.max(0, labels.indexOf(name)));
}

/** The rows of the flows, by queue: their packets, drops and delays. */
export function flowTables(result: ReplayResult): Map<string, PivotRow>[] {
  const { flows } = result;
  const queues = textsOf(flows, "queue");
  const names = textsOf(flows, "flow");
  const at = (column: string, row: number) => numbersOf(flows, column)[row] ?? Number.NaN;
  return queueLabels(result).map(label => {
    const rows = names.flatMap((name, row) => (queues[row] === label ? [{ name, row }] : []));
    rows.sort((a, b) => at("bytes", b.row) - at("bytes", a.row));
    return new Map(
      rows.map(({ name, row }) => [
        name,
        {
          kind: undefined,
          values: {
            packets: at("packets", row),
            offered_bps: at("offered_bps", row),
            loss: lossOf(at("packets_dropped", row), at("packets", row) - at("packets_dropped", row)),
            delay_mean_s: at("delay_mean_s", row),
            delay_p99_s: at("delay_p99_s", row),
            packets_marked: at("packets_marked", row),
            classified_at_s: at("classified_at_s", row),
          },
        },
      ]),
    );
  });
}

/** A row for each queue. */
export function queueRows(result: ReplayResult): Map<string, PivotRow> {
  const { queues } = result;
  const at = (column: string, row: number) => numbersOf(queues, column)[row] ?? Number.NaN;
  return new Map(
    queueLabels(result).map((label, row) => [
      label,
      {
        kind: undefined,
        values: {
          packets_dropped: at("packets_dropped", row),
          loss: lossOf(at("packets_dropped", row), at("packets_arrived", row) - at("packets_dropped", row)),
          packets_marked: at("packets_marked", row),
          delay_mean_s: at("delay_mean_s", row),
          delay_p99_s: at("delay_p99_s", row),
          delay_max_s: at("delay_max_s", row),
          length_mean_packets: at("length_mean_packets", row),
          length_max_packets: at("length_max_packets", row),
          utilization: at("utilization", row),
        },
      },
    ]),
  );
}
