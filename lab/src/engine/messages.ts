// Messages between the page and its workers.

import type { Fault, Override, ReplayOptions, ReplayResult, RunResult, SeriesPart, Value, Watch } from "./protocol";

/** The texts of trace files by name. */
export type Files = Record<string, string>;

export interface RunRequest {
  kind: "run";
  text: string;
  overrides: Override[];
  files: Files;
  seed: bigint | undefined;
  watch: Watch | undefined;
}

export type Request =
  | { kind: "check"; text: string; overrides: Override[]; files: Files }
  | { kind: "numbers"; text: string; files: Files }
  | { kind: "fitted"; discipline: string; parameters: string[]; rate: string; limit: string | undefined }
  | RunRequest
  | { kind: "replay"; capture: Uint8Array; options: ReplayOptions };

/** To a worker. The module is compiled once, by the page. */
export type ToWorker = { module: WebAssembly.Module } | { id: number; request: Request };

/** From a worker. A panic of the engine ends its worker. */
export type FromWorker =
  | { id: number; progress: number; parts: SeriesPart[] }
  | { id: number; done: unknown }
  | { id: number; fault: Fault; isOver: boolean };

/** The answers to requests. */
export interface Answers {
  check: import("./protocol").Facts;
  numbers: Value[];
  fitted: [name: string, value: string | number][];
  run: RunResult;
  replay: ReplayResult;
}
