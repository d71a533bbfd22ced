// The engine as the page uses it. Tests put another one in its place.

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

export interface RunOptions {
  overrides: Override[];
  seed: number | undefined;
  watch: Watch | undefined;
  onProgress: (fraction: number, parts: SeriesPart[]) => void;
}

export interface Job<Result> {
  result: Promise<{ result: Result } | { fault: Fault } | "cancelled">;
  cancel(): void;
}

export interface Engine {
  check(text: string, overrides?: Override[]): Promise<{ facts: Facts } | { fault: Fault }>;
  values(text: string): Promise<Value[]>;
  choices(): Promise<Choice[]>;
  fitted(discipline: string, rate: string, limit?: string): Promise<[string, string | number][]>;
  run(text: string, options: RunOptions): Job<RunResult>;
  replay(
    bytes: Uint8Array,
    options: ReplayOptions,
    watch: { onProgress: (fraction: number) => void },
  ): Job<ReplayResult>;
}
