// The types that the engine, its worker and the page share.

/** A value that replaces or adds one of the scenario: a path such as `topology.star.bottleneck.rate`, and TOML. */
export type Override = [path: string, value: string];

/** The refusal of a text: one fault with its place. */
export interface Fault {
  /** `scenario`: the text is at fault. `run`: it cannot be run here. `capture`: a capture cannot be replayed.
   *  `internal`: a fault in Forebay. */
  kind: "scenario" | "run" | "capture" | "internal";
  message: string;
  /** The label under the offending text: mostly the expected value. */
  label: string;
  /** The remedy, where one is known. */
  help: string | undefined;
  /** The offending part of the text in UTF-16 units. Undefined where the fault is in no text, or in an override. */
  span: { from: number; to: number } | undefined;
  /** Several lines with the text underlined, as in a terminal. */
  rendered: string;
}

/** Facts about a valid scenario. */
export interface Facts {
  name: string;
  description: string;
  duration_s: number;
  warmup_s: number;
  seed: number;
  flow_count: number;
  link_count: number;
  /** An estimate of the memory that a run takes, in bytes. */
  memory_bytes: number;
  /** Whether the scenario asks for time series itself. */
  has_probes: boolean;
  /** Classes in Python that the scenario names: it cannot run in a browser. */
  python_classes: string[];
  pins: Pin[];
  /** Undefined for a network of more than 20 000 links. */
  plan: Plan | undefined;
}

/** A value of the scenario that has a slider. Bounds are texts as in a scenario, such as `5 Mbps`. */
export interface Pin {
  key: string;
  from: string | undefined;
  to: string | undefined;
  label: string | undefined;
}

/** A number in the text of a scenario, or a quantity such as `"10 Mbps"`. Spans are in UTF-16 units. */
export interface Value {
  path: string;
  from: number;
  to: number;
  /** As it is written, with its quotes. */
  text: string;
  /** The number in the unit of the text. */
  number: number;
  /** The unit as it is written; empty for a bare number. */
  unit: string;
}

export interface Plan {
  topology: string;
  nodes: { name: string; kind: string }[];
  links: { name: string; source: string; destination: string; rate_bps: number; delay_s: number }[];
  queues: QueuePlace[];
  groups: { name: string; sources: string[]; destinations: string[]; rtt_s: number | undefined }[];
}

/** A place of the scenario that has a queue; `path` is the path of its key. */
export interface QueuePlace {
  name: string;
  path: string | undefined;
  role: string;
  /** Whether it is that of the way back of links. */
  is_back: boolean;
  discipline: string | undefined;
  limit: string | undefined;
  /** Names of the queues in results. */
  queues: string[];
  /** The links that it feeds. */
  links: string[];
}

/** A table of results: its columns by name, all of one length. Counts are numbers, too. */
export type Table = Record<string, Float64Array | string[]>;

export interface Series {
  kind: string;
  name: string;
  quantity: string;
  start_s: number;
  interval_s: number;
  values: Float64Array;
  /** The names of the values 0, 1, …, if they are states. */
  states: string[];
}

export interface Warned {
  text: string;
  remedy: string;
}

/** The result of a run: the tables and series of `forebay run`. */
export interface RunResult {
  scenario: string;
  /** It may have more bits than a number. */
  seed: string;
  duration_s: number;
  warmup_s: number;
  flows: Table;
  delays: Table;
  queues: Table;
  links: Table;
  queue_flows: Table;
  adapters: Table;
  transfers: Table;
  completion_times: Table;
  equal_paths: Table;
  collectives: Table;
  ranks: Table;
  videos: Table;
  pages: Table;
  pings: Table;
  deadlock: { links: string[]; since_s: number } | undefined;
  warnings: Warned[];
  series: Series[];
  engine: { packet_hops: number; events: number; cpu_s: number };
  digest: string;
  /** Undefined unless it was asked for. */
  watched: Watched | undefined;
}

/** Which packets a run records. */
export interface Watch {
  /** Names of links; crossbars and PAUSE are recorded in any case where there are some. */
  links: string[];
  from_s: number;
  to_s: number;
  /** The largest number of events of each log. A log ends when it is full. */
  most: number;
}

export interface Watched {
  packets: PacketLog[];
  crossbars: CrossbarLog[];
  pauses: PauseLog[];
}

/** The events of a queue in the order of time. */
export interface PacketLog {
  link: string;
  rate_bps: number;
  times_s: Float64Array;
  /** An index into `PACKET_EVENTS`. */
  events: Uint8Array;
  /** An index into `flow_names`. */
  flows: Uint32Array;
  bytes: Uint32Array;
  /** A number of the packet, unique in this log. Packets that were queued at `from_s` come first, as enqueued then. */
  packets: Uint32Array;
  flow_names: string[];
  /** Whether the log was full before `to_s`; it is complete up to its last event. */
  is_cut: boolean;
}

/** `departed`: its transmission begins. `marked` comes in addition to one of the others, before or after it. */
export const PACKET_EVENTS = ["enqueued", "dropped_on_arrival", "dropped_later", "departed", "marked"] as const;

/** The matchings of a crossbar. */
export interface CrossbarLog {
  node: string;
  inputs: number;
  outputs: number;
  /** One for each phase of the scheduler. */
  times_s: Float64Array;
  /** `inputs` numbers a phase: the matched output, or -1. */
  matchings: Int16Array;
  /** `inputs * outputs` numbers a phase: cells or packets in each VOQ before the matching, by input, then output. */
  lengths: Uint16Array;
  is_cut: boolean;
}

/** When a link was stopped by PAUSE and released, in the order of time. */
export interface PauseLog {
  link: string;
  times_s: Float64Array;
  /** 255: all classes together. */
  classes: Uint8Array;
  /** 1: stopped. 0: released. */
  stopped: Uint8Array;
  /** Whether the log was full before the end of the recording; it is complete up to its last change. */
  is_cut: boolean;
}

/** Values of series since the last call, during a run: parts of the series that the result will have. */
export interface SeriesPart {
  kind: string;
  name: string;
  quantity: string;
  start_s: number;
  interval_s: number;
  /** The index of the first of `values` in the series. */
  first: number;
  values: Float64Array;
  states: string[];
}

export interface ReplayQueue {
  label: string;
  discipline: string;
  parameters: [name: string, value: string][];
}

export interface ReplayOptions {
  rate: string;
  queues: ReplayQueue[];
  destination: string | undefined;
  seed: number;
  interval: string | undefined;
}

/** The result of a replay: the tables and series of `forebay replay`. */
export interface ReplayResult {
  rate_bps: number;
  seed: string;
  duration_s: number;
  packets: number;
  bytes: number;
  packets_unselected: number;
  packets_unaddressed: number;
  packets_out_of_order: number;
  packets_missed: number;
  packets_cut: number;
  packets_opaque: number;
  warnings: Warned[];
  flows: Table;
  queues: Table;
  delays: Table;
  series: Series[];
}

/** A name that a scenario may use, with its parameters: from the catalogue of the schema. */
export interface Choice {
  kind: string;
  name: string;
  /** The table of the guide's list in which it is; only disciplines have one. */
  group: string | null;
  summary: string;
  when_to_use: string | null;
  parameters: { name: string; takes: string; required: boolean; description: string; default: string | null }[];
}
