// The charts of a run, from its series and tables.

import { distributionModel } from "../charts/distribution";
import {
  aligned,
  averaged,
  type ChartLine,
  type ChartModel,
  emptyModel,
  largestOf,
  merged,
  periodsOf,
  summed,
} from "../charts/model";
import { colorOfState } from "../charts/palette";
import type { Recording, Trace } from "../charts/recording";
import { textWithUnit, titleOf } from "../charts/units";
import type { Facts, RunResult, Table } from "../engine/protocol";

export const PANELS = [
  "goodput",
  "queue_length",
  "queue_delay",
  "drops",
  "marks",
  "gauges",
  "senders",
  "utilization",
  "delay_cdf",
  "packets",
  "crossbar",
  "pause",
  "transfers",
] as const;

export type Panel = (typeof PANELS)[number];

/** A run as its charts see it. */
export interface Subject {
  facts: Facts;
  recording: Recording;
  result: RunResult | undefined;
  isRunning: boolean;
  /** Whether the recording holds a whole run. */
  isWhole: boolean;
}

export interface FigureOptions {
  isGrouped: boolean;
  /** The sender that is drawn. */
  sender: string | undefined;
  /** The names of the compared queue in results, or of the queues. */
  queues: readonly string[];
  /** The links behind the compared queue. */
  links: readonly string[];
  /** The part of the time that is shown; undefined: all. */
  shown: [number, number] | undefined;
}

/** More flows than this are drawn as a line for each group. */
export const MOST_FLOWS = 12;
/** More lines than this are never drawn. */
const MOST_LINES = 24;
const MOST_QUEUES = 8;
const COMMON_QUANTITIES = new Set(["length_packets", "length_bytes", "length_mean_bytes", "dropped_packets"]);

const naturally = new Intl.Collator("en", { numeric: true }).compare;

/** The group of a flow, by the names of groups: flows are called `group`, `group-3` or `group/request`. */
export function groupOf(flow: string, groups: readonly string[]): string {
  const fitting = groups.filter(it => flow === it || flow.startsWith(`${it}-`) || flow.startsWith(`${it}/`));
  return fitting.sort((a, b) => b.length - a.length)[0] ?? flow;
}

/** Flows in the order of their groups, then by number. */
export function sortedFlows(flows: readonly string[], groups: readonly string[]): string[] {
  const places = new Map(flows.map(it => [it, groups.indexOf(groupOf(it, groups))]));
  return [...flows].sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0) || naturally(a, b));
}

export function groupNames(facts: Facts): string[] {
  return (facts.plan?.groups ?? []).map(it => it.name);
}

/** The charts of a panel. */
export function figuresOf(panel: Panel, subject: Subject, options: FigureOptions): ChartModel[] {
  switch (panel) {
    case "goodput":
      return [flowFigure(subject, options, "goodput_bps")];
    case "transfers":
      return ["rtt_s", "video_bitrate_bps", "video_buffer_s"].flatMap(it => optional(subject, options, it));
    case "queue_length":
      return [queueFigure(subject, options, "length_packets", "Queue length")];
    case "queue_delay":
      return [delayFigure(subject, options)];
    case "drops":
      return [stepped(queueFigure(subject, options, "dropped_packets", "Drops per interval"))];
    case "gauges":
      return gaugeFigures(subject, options);
    case "senders":
      return senderFigures(subject, options);
    case "utilization":
      return [utilizationFigure(subject, options)];
    case "delay_cdf":
      return subject.result && rowCount(subject.result.delays) > 0 ? [cdfFigure(subject)] : [];
    default:
      return [];
  }
}

export function rowCount(table: Table): number {
  return Object.values(table)[0]?.length ?? 0;
}

function timeModel(subject: Subject, title: string, quantity: string): ChartModel {
  const { facts, recording, isWhole } = subject;
  return {
    ...emptyModel(title, "time_s", quantity),
    xRange: [0, facts.duration_s],
    shadedTo: facts.warmup_s,
    front: isWhole ? undefined : recording.front_s,
  };
}

/** Lines of traces. */
function withLines(
  model: ChartModel,
  traces: readonly Trace[],
  lineOf: (trace: Trace, index: number) => Omit<ChartLine, "values">,
): ChartModel {
  const { xs, values } = aligned(traces);
  const lines = traces.map((it, i) => ({ ...lineOf(it, i), values: values[i] as Float64Array }));
  return { ...model, xs, lines };
}

/** Flows, or groups of them: sums of rates, and means of all else. */
function flowFigure(subject: Subject, options: FigureOptions, quantity: string): ChartModel {
  const groups = groupNames(subject.facts);
  const recorded = subject.recording.find("flow", quantity);
  const isRate = quantity.endsWith("_bps");
  const factor = isRate ? mergeFactor(recorded[0], subject, options) : 1;
  const traces = recorded.map(it => merged(it, factor));
  const byName = new Map(traces.map(it => [it.name, it]));
  const order = flowOrder(subject);
  const names = order.filter(it => byName.has(it));
  const interval_s = traces[0]?.interval_s ?? 0;
  const note = factor > 1 ? `Means over ${textWithUnit("time_s", interval_s)}; zoom in for more.` : undefined;
  const model = { ...timeModel(subject, titleOf(quantity), quantity), note };
  if (options.isGrouped || names.length > MOST_LINES) {
    const { xs, values } = aligned(names.map(it => byName.get(it) as Trace));
    const parts = new Map<string, Float64Array[]>();
    names.forEach((name, i) => {
      const group = groupOf(name, groups);
      parts.set(group, [...(parts.get(group) ?? []), values[i] as Float64Array]);
    });
    const lines = [...parts].map(([group, members]) => ({
      key: `group ${group}`,
      label: members.length > 1 ? `${group} (${isRate ? "sum" : "mean"} of ${members.length})` : group,
      values: isRate ? summed(members) : averaged(members),
      look: lookOfGroup(group, groups),
      width: 1.75,
    }));
    return { ...model, xs, lines };
  }
  return withLines(
    model,
    names.map(it => byName.get(it) as Trace),
    it => ({ key: `flow ${it.name}`, label: it.name, look: order.indexOf(it.name) }),
  );
}

/** All flows in the order of their looks. Requests are a few packets that ask for the data of another flow. */
export function flowOrder(subject: Subject): string[] {
  const names = subject.recording.find("flow", "goodput_bps").map(it => it.name);
  return sortedFlows(
    names.filter(it => !it.endsWith("/request")),
    groupNames(subject.facts),
  );
}

/** More values than this make the rate of a flow a band of noise. */
const MOST_RATES = 160;

/** How many intervals are drawn as one value: a short interval holds few packets. */
function mergeFactor(trace: Trace | undefined, subject: Subject, options: FigureOptions): number {
  const [from, to] = options.shown ?? [0, subject.facts.duration_s];
  return trace ? Math.max(1, Math.round((to - from) / trace.interval_s / MOST_RATES)) : 1;
}

function lookOfGroup(group: string, groups: readonly string[]): number {
  return Math.max(0, groups.indexOf(group));
}

/** A chart of a quantity that only some flows have. */
function optional(subject: Subject, options: FigureOptions, quantity: string): ChartModel[] {
  const model = flowFigure(subject, { ...options, isGrouped: false }, quantity);
  return model.lines.length > 0 ? [model] : [];
}

/** More compared queues than these compete with all others for their place. */
const MOST_ALWAYS = 2;

/** The names of the queues that are drawn: the compared one, and the others in which packets wait. */
function drawnQueues(subject: Subject, options: FigureOptions): string[] {
  const names = subject.recording.find("queue", "length_packets").map(it => it.name);
  const { result } = subject;
  const lengths = result?.queues.length_mean_bytes as Float64Array | undefined;
  const rows = (result?.queues.name as string[] | undefined) ?? [];
  // A queue of which nothing is known yet comes first.
  const meanOf = (name: string) => (rows.includes(name) ? (lengths?.[rows.indexOf(name)] ?? 0) : Number.MAX_VALUE);
  const isChosen = (name: string) => options.queues.includes(name);
  const first = options.queues.length <= MOST_ALWAYS ? names.filter(isChosen) : [];
  const others = names.filter(it => !first.includes(it) && meanOf(it) > 0);
  others.sort((a, b) => Number(isChosen(b)) - Number(isChosen(a)) || meanOf(b) - meanOf(a) || naturally(a, b));
  const drawn = [...first, ...others.slice(0, MOST_QUEUES - first.length).sort(naturally)];
  return drawn.length > 0 ? drawn : names.slice(0, MOST_QUEUES);
}

function queueTraces(subject: Subject, options: FigureOptions, quantity: string): Trace[] {
  const names = drawnQueues(subject, options);
  const traces = subject.recording.find("queue", quantity).filter(it => names.includes(it.name));
  return traces.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
}

function queueFigure(subject: Subject, options: FigureOptions, quantity: string, title: string): ChartModel {
  const traces = queueTraces(subject, options, quantity);
  const all = subject.recording.find("queue", quantity).length;
  const model = withLines(timeModel(subject, title, quantity), traces, (it, i) => ({
    key: `queue ${it.name}`,
    label: it.name,
    look: i,
  }));
  return { ...model, note: all > traces.length ? `${traces.length} of ${all} queues` : undefined };
}

function stepped(model: ChartModel): ChartModel {
  return { ...model, isStepped: true };
}

/** The time that the waiting bytes take at the rate of their link. */
function delayFigure(subject: Subject, options: FigureOptions): ChartModel {
  const rates = new Map((subject.facts.plan?.links ?? []).map(it => [it.name, it.rate_bps]));
  const traces = queueTraces(subject, options, "length_bytes").filter(it => (rates.get(it.name) ?? 0) > 0);
  const delays = traces.map(it => {
    const factor = 8 / (rates.get(it.name) as number);
    return { ...it, values: it.values.map(bytes => bytes * factor) };
  });
  const hint = "the time that the waiting bytes take at the rate of their link";
  return withLines({ ...timeModel(subject, "Queueing delay", "queueing_delay_s"), hint }, delays, (it, i) => ({
    key: `queue ${it.name}`,
    label: it.name,
    look: i,
  }));
}

function gaugeFigures(subject: Subject, options: FigureOptions): ChartModel[] {
  const names = drawnQueues(subject, options);
  const found = new Map<string, Trace[]>();
  for (const trace of subject.recording.traces.values()) {
    if (trace.kind === "queue" && !COMMON_QUANTITIES.has(trace.quantity) && names.includes(trace.name)) {
      found.set(trace.quantity, [...(found.get(trace.quantity) ?? []), trace]);
    }
  }
  const models = [...found].map(([quantity, traces]) => {
    traces.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
    return withLines(timeModel(subject, titleOf(quantity), quantity), traces, it => ({
      key: `queue ${it.name}`,
      label: it.name,
      look: names.indexOf(it.name),
    }));
  });
  return [...models, ...flowGaugeFigures(subject, names)].filter(it => largestOf(it.lines) > 0);
}

/** The state that a queue keeps for single flows, which `flow_gauges` of a scenario records. */
function flowGaugeFigures(subject: Subject, queues: readonly string[]): ChartModel[] {
  const order = flowOrder(subject);
  const traces = [...subject.recording.traces.values()].filter(it => it.kind === "queue_flow");
  return queues.flatMap(queue => {
    const own = traces.filter(it => it.name.startsWith(`${queue}/`));
    const flowOf = (trace: Trace) => trace.name.slice(queue.length + 1);
    own.sort((a, b) => order.indexOf(flowOf(a)) - order.indexOf(flowOf(b)));
    return [...new Set(own.map(it => it.quantity))].map(quantity => {
      const model = timeModel(subject, `${titleOf(quantity)} of flows at ${queue}`, quantity);
      const drawn = own.filter(it => it.quantity === quantity).slice(0, MOST_FLOWS);
      return withLines(model, drawn, it => ({
        key: `flow ${flowOf(it)}`,
        label: flowOf(it),
        look: order.indexOf(flowOf(it)),
      }));
    });
  });
}

const SENDER_PANELS: [title: string, quantities: string[]][] = [
  ["Window and data in flight", ["congestion_window_bytes", "in_flight_bytes", "slow_start_threshold_bytes"]],
  ["Rates of the sender", ["pacing_rate_bps", "delivery_rate_bps", "bandwidth_bps"]],
  ["Round trips", ["rtt_latest_s", "rtt_smoothed_s", "rtt_min_s", "model_rtt_s"]],
  ["Share of marks", ["alpha"]],
];

/** The names of the senders that were recorded. */
export function recordedSenders(recording: Recording): string[] {
  const names = [...recording.traces.values()].filter(it => it.kind === "sender").map(it => it.name);
  return [...new Set(names)].sort(naturally);
}

function senderFigures(subject: Subject, options: FigureOptions): ChartModel[] {
  const senders = recordedSenders(subject.recording);
  const name = senders.find(it => it === options.sender) ?? senders[0];
  if (name === undefined) {
    const windows = flowFigure(subject, options, "congestion_window_bytes");
    return windows.lines.length > 0 ? [{ ...windows, title: "Congestion window" }] : [];
  }
  const traces = [...subject.recording.traces.values()].filter(it => it.kind === "sender" && it.name === name);
  const states = traces.find(it => it.quantity === "state");
  const bands = states ? periodsOf(states, colorOfState) : [];
  const models = SENDER_PANELS.map(([title, quantities]) => {
    const drawn = quantities.flatMap(quantity => traces.filter(it => it.quantity === quantity));
    const model = timeModel(subject, title, drawn[0]?.quantity ?? "");
    return {
      ...withLines(model, drawn, it => ({
        key: `sender ${it.quantity}`,
        label: titleOf(it.quantity),
        look: quantities.indexOf(it.quantity),
      })),
      bands: bands.length > MOST_BANDS ? [] : bands,
    };
  });
  return models.filter(it => it.lines.length > 0);
}

/** More bands under curves are noise. */
const MOST_BANDS = 150;

function utilizationFigure(subject: Subject, options: FigureOptions): ChartModel {
  const traces = subject.recording.find("link", "utilization");
  const chosen = drawnQueues(subject, options);
  const ofQueues = traces.filter(it => chosen.includes(it.name));
  const wanted = ofQueues.length > 0 ? ofQueues : traces.filter(it => options.links.includes(it.name));
  const drawn = (wanted.length > 0 ? wanted : byLoad(traces, subject)).slice(0, MOST_QUEUES);
  drawn.sort((a, b) => chosen.indexOf(a.name) - chosen.indexOf(b.name) || naturally(a.name, b.name));
  const model = withLines(timeModel(subject, "Utilization", "utilization"), drawn, (it, i) => ({
    key: `queue ${it.name}`,
    label: it.name,
    look: i,
  }));
  return { ...model, yMax: 1, hint: "the share of each interval in which the link was sending" };
}

/** Traces of links; those that carry most data come first. */
function byLoad(traces: readonly Trace[], subject: Subject): Trace[] {
  const rates = new Map((subject.facts.plan?.links ?? []).map(it => [it.name, it.rate_bps]));
  const busy = (it: Trace) => it.values.reduce((sum, value) => sum + (value || 0), 0) / Math.max(1, it.values.length);
  const loads = new Map(traces.map(it => [it, busy(it) * (rates.get(it.name) ?? 0)]));
  return [...traces].sort((a, b) => (loads.get(b) ?? 0) - (loads.get(a) ?? 0));
}

function cdfFigure(subject: Subject): ChartModel {
  const groups = groupNames(subject.facts);
  const { delays } = subject.result as RunResult;
  return distributionModel(delays, "group" in delays ? "group" : "name", name =>
    lookOfGroup(groupOf(name, groups), groups),
  );
}

/** Gives the charts of several columns common axes where they show the same. Hidden lines do not count. */
export function withCommonAxes(columns: ChartModel[][], hidden: ReadonlySet<string>): ChartModel[][] {
  const tops = new Map<string, number>();
  const rights = new Map<string, [number, number]>();
  const keyOf = (model: ChartModel) => `${model.title} ${model.yQuantity}`;
  for (const model of columns.flat()) {
    const key = keyOf(model);
    tops.set(key, Math.max(tops.get(key) ?? 0, model.yMax ?? largestOf(model.lines.filter(it => !hidden.has(it.key)))));
    const [from, to] = rights.get(key) ?? model.xRange;
    rights.set(key, [Math.min(from, model.xRange[0]), Math.max(to, model.xRange[1])]);
  }
  return columns.map(models =>
    models.map(model => ({
      ...model,
      yMax: tops.get(keyOf(model)),
      xRange: rights.get(keyOf(model)) ?? model.xRange,
      xIsLog: model.xIsLog && columns.flat().every(it => keyOf(it) !== keyOf(model) || it.xIsLog),
    })),
  );
}
