// The engine as the page uses it. Tests put another one in its place.

import type { JsonSchema } from "../editor/schema";
import type {
  Choice,
  Facts,
  Fault,
  Override,
  ReplayOptions,
  ReplayResult,
  RunResult,
  SeriesPart,
  Value,
  Watch,
} from "../engine/protocol";

/** The text of a scenario comes with the texts of its trace files by name. */
export type Files = Record<string, string>;

export interface RunOptions {
  overrides: Override[];
  files: Files;
  seed?: bigint;
  watch?: Watch;
  onProgress: (fraction: number, parts: SeriesPart[]) => void;
}

export interface Job<Result> {
  ended: Promise<{ result: Result } | { fault: Fault } | "cancelled">;
  cancel(): void;
}

export interface Engine {
  check(text: string, overrides?: Override[], files?: Files): Promise<{ facts: Facts } | { fault: Fault }>;
  values(text: string, files?: Files): Promise<Value[]>;
  choices(): Promise<Choice[]>;
  schema(): Promise<JsonSchema>;
  fitted(discipline: string, rate: string, limit?: string): Promise<[string, string | number][]>;
  run(text: string, options: RunOptions): Job<RunResult>;
  replay(
    bytes: Uint8Array,
    options: ReplayOptions,
    watch: { onProgress: (fraction: number) => void },
  ): Job<ReplayResult>;
}
