// A scenario, its disciplines and their runs: the state of a lab.

import { batch, computed, effect, type Signal, signal } from "@preact/signals";
import type { ChartView } from "../charts/chart";
import { Recording } from "../charts/recording";
import type { Facts, Fault, Override, Pin, QueuePlace, RunResult, Value, Watch } from "../engine/protocol";
import { queuesOf, type Shared } from "../share/shared";
import { defaultPlace, placesOf, queueOverrides, seriesOverrides } from "./contenders";
import type { Engine, Files, Running } from "./engine";

/** A discipline of a comparison; undefined: the queue as it is written. */
export type Contender = string | undefined;

export type RunState = "waiting" | "running" | "done" | "failed" | "cancelled";

/** A run of a contender: a column of the page. */
export class Column {
  readonly contender: Contender;
  readonly label = signal("");
  readonly state = signal<RunState>("waiting");
  readonly fraction = signal(0);
  readonly fault = signal<Fault | undefined>(undefined);
  readonly result = signal<RunResult | undefined>(undefined);
  /** Time from the start of the run to its result. */
  readonly wall_ms = signal(0);
  /** Grows whenever the recording has new values. */
  readonly version = signal(0);
  recording = new Recording(0);
  overrides: Override[] = [];
  job: Running<RunResult> | undefined;

  constructor(contender: Contender) {
    this.contender = contender;
  }
}

export interface SessionOptions {
  text: string;
  compare?: readonly string[] | undefined;
  overrides?: readonly Override[] | undefined;
  pins?: readonly Pin[] | undefined;
  files?: Files | undefined;
  seed?: number | bigint | undefined;
  /** The path of the queue that the disciplines replace. */
  at?: string | undefined;
}

/** How the text changed: a key was pressed, a slider moves, or another text took its place. */
export type Change = "typed" | "dragged" | "replaced";

const TYPING_MS = 300;
const LONG_MS = 250;
/** While a slider moves, a run gets at least this time before the next one takes its place. */
const LEAST_RUN_MS = 150;
export const MOST_CONTENDERS = 3;

let sessions = 0;

export class Session {
  readonly text: Signal<string>;
  readonly contenders: Signal<readonly Contender[]>;
  readonly overrides: Signal<readonly Override[]>;
  /** Pins in addition to those of the scenario. */
  readonly extraPins: Signal<readonly Pin[]>;
  /** The texts of trace files by name. */
  readonly files: Signal<Files>;
  readonly seed: Signal<bigint | undefined>;
  readonly placePath: Signal<string | undefined>;
  readonly watch = signal<((facts: Facts) => Watch | undefined) | undefined>(undefined);
  /** TCP flows whose senders are recorded in addition. */
  readonly senders = signal<readonly string[]>([]);
  readonly isAutomatic = signal(true);

  readonly facts = signal<Facts | undefined>(undefined);
  readonly fault = signal<Fault | undefined>(undefined);
  readonly values = signal<Value[]>([]);
  readonly columns = signal<Column[]>([]);
  readonly isChanged = signal(false);
  readonly places = computed<QueuePlace[]>(() => (this.facts.value ? placesOf(this.facts.value) : []));
  readonly place = computed<QueuePlace | undefined>(() => {
    const facts = this.facts.value;
    const wanted = this.placePath.value;
    return this.places.value.find(it => it.path === wanted) ?? (facts && defaultPlace(facts));
  });
  readonly isRunning = computed(() =>
    this.columns.value.some(it => it.state.value === "running" || it.state.value === "waiting"),
  );
  /** Whether the run goes on for so long that the page says so: controls do not flicker at each step of a slider. */
  readonly isLong = signal(false);
  readonly fraction = computed(() => {
    const columns = this.columns.value;
    return columns.length > 0 ? columns.reduce((sum, it) => sum + it.fraction.value, 0) / columns.length : 0;
  });
  readonly pins = computed<Pin[]>(() => {
    const all = [...this.extraPins.value, ...(this.facts.value?.pins ?? [])];
    return [...new Map(all.map(it => [it.key, it] as const)).values()];
  });
  readonly timeView: ChartView;
  readonly delayView: ChartView;

  readonly #engine: Engine;
  readonly #stops: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #longTimer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;
  #checks = 0;
  #started_ms = 0;
  #isClosed = false;

  constructor(engine: Engine, options: SessionOptions, isDark: Signal<boolean>) {
    this.#engine = engine;
    this.text = signal(options.text);
    this.overrides = signal(options.overrides ?? []);
    this.extraPins = signal(options.pins ?? []);
    this.files = signal(options.files ?? {});
    this.seed = signal(options.seed === undefined ? undefined : BigInt(options.seed));
    this.placePath = signal(options.at);
    const compare = options.compare ?? [];
    this.contenders = signal<readonly Contender[]>(
      compare.length > 0 ? compare.slice(0, MOST_CONTENDERS) : [undefined],
    );
    sessions += 1;
    const hidden = signal<ReadonlySet<string>>(new Set());
    const view = (name: string): ChartView => ({
      zoom: signal<[number, number] | undefined>(undefined),
      hidden,
      syncKey: `${name} ${sessions}`,
      isDark,
    });
    this.timeView = view("time");
    this.delayView = view("delay");
  }

  /** Begins to check and to run whenever something changes. */
  start(): void {
    this.#schedule(0);
    let isFirst = true;
    this.#stops.push(
      effect(() => {
        clearTimeout(this.#longTimer);
        if (this.isRunning.value) {
          this.#longTimer = setTimeout(() => {
            this.isLong.value = true;
          }, LONG_MS);
        } else {
          this.isLong.value = false;
        }
      }),
      effect(() => {
        // Each of these signals starts a run.
        this.contenders.value;
        this.overrides.value;
        this.seed.value;
        this.placePath.value;
        this.watch.value;
        this.senders.value;
        if (!isFirst) {
          this.#schedule(0);
        }
        isFirst = false;
      }),
    );
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const stop of this.#stops) {
      stop();
    }
    this.cancel();
  }

  setText(text: string, change: Change): void {
    if (text === this.text.peek()) {
      return;
    }
    this.text.value = text;
    if (change === "replaced") {
      this.timeView.zoom.value = undefined;
      this.delayView.zoom.value = undefined;
      this.timeView.hidden.value = new Set();
    }
    const sinceStart = performance.now() - this.#started_ms;
    const isBusy = this.isRunning.peek() && sinceStart < LEAST_RUN_MS;
    const drag_ms = isBusy ? LEAST_RUN_MS - sinceStart : 0;
    this.#schedule(change === "typed" ? TYPING_MS : change === "dragged" ? drag_ms : 0);
  }

  /** The scenario as it is handed on, with all that the page adds to it but its series. */
  shared(): Shared {
    const place = this.place.peek();
    const contenders = this.contenders.peek();
    const isCompared = contenders.length > 1 || contenders[0] !== undefined;
    return {
      text: this.text.peek(),
      queues: queuesOf(contenders, place?.discipline),
      at: isCompared ? this.placePath.peek() : undefined,
      seed: this.seed.peek(),
      overrides: [...this.overrides.peek()],
    };
  }

  /** Ends the runs. Their charts stay as they are. */
  cancel(): void {
    this.#turn += 1;
    this.#checks += 1;
    for (const column of this.columns.peek()) {
      column.job?.cancel();
      column.job = undefined;
      if (column.state.peek() === "running" || column.state.peek() === "waiting") {
        column.state.value = "cancelled";
      }
    }
  }

  /** Runs now, even if runs are not automatic. */
  async runNow(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#turnOver(true);
  }

  #schedule(delay_ms: number): void {
    if (this.#timer !== undefined && delay_ms > 0 && delay_ms < TYPING_MS) {
      // A drag is under way: the turn that waits takes the latest text.
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#turnOver(this.isAutomatic.peek());
    }, delay_ms);
  }

  async #turnOver(isWanted: boolean): Promise<void> {
    // Runs go on while the next text is checked.
    this.#checks += 1;
    const check = this.#checks;
    const isOver = () => this.#isClosed || check !== this.#checks;
    const text = this.text.peek();
    const overrides = [...this.overrides.peek()];
    const files = this.files.peek();
    const [checked, values] = await Promise.all([
      this.#engine.check(text, overrides, files),
      this.#engine.values(text, files),
    ]);
    if (isOver()) {
      return;
    }
    if ("fault" in checked) {
      batch(() => {
        this.fault.value = checked.fault;
        this.isChanged.value = true;
      });
      this.cancel();
      return;
    }
    const { facts } = checked;
    batch(() => {
      this.facts.value = facts;
      // Values of a trace file are no part of the text.
      this.values.value = values.filter(it => text.slice(it.from, it.to) === it.text);
      this.fault.value = refusalOf(facts);
      this.isChanged.value = !isWanted;
    });
    if (this.fault.peek()) {
      this.cancel();
      return;
    }
    if (!isWanted) {
      return;
    }
    const common = [...overrides, ...seriesOverrides(facts), ...this.#senderOverrides(text)];
    const place = this.place.peek();
    const contenders = this.contenders.peek();
    const queues = await Promise.all(
      contenders.map(it =>
        it === undefined || !place
          ? []
          : queueOverrides(facts, { text, values }, place, it, (...args) => this.#engine.fitted(...args)),
      ),
    );
    if (!isOver()) {
      this.#begin(
        text,
        facts,
        contenders,
        queues.map(it => [...common, ...it]),
      );
    }
  }

  #senderOverrides(text: string): Override[] {
    const names = this.senders.peek();
    return names.length > 0 && !/^[ \t]*senders[ \t]*=/m.test(text) ? [["probes.senders", JSON.stringify(names)]] : [];
  }

  #begin(text: string, facts: Facts, contenders: readonly Contender[], overrides: Override[][]): void {
    this.cancel();
    const turn = this.#turn;
    this.#started_ms = performance.now();
    const before = this.columns.peek();
    const columns = contenders.map((contender, i) => {
      const old = before[i];
      return old && old.contender === contender ? old : new Column(contender);
    });
    batch(() => {
      for (const [i, column] of columns.entries()) {
        column.label.value = column.contender ?? this.place.peek()?.discipline ?? "as written";
        column.overrides = overrides[i] ?? [];
        column.state.value = "running";
        column.fraction.value = 0;
        column.fault.value = undefined;
      }
      this.columns.value = columns;
    });
    const watch = this.watch.peek()?.(facts);
    for (const column of columns) {
      this.#run(column, text, facts.duration_s, watch, turn);
    }
  }

  #run(column: Column, text: string, duration_s: number, watch: Watch | undefined, turn: number): void {
    const started = performance.now();
    // Charts show the run before until there are values of this one.
    const recording = new Recording(duration_s, column.recording);
    const seed = this.seed.peek();
    let frame = 0;
    const job = this.#engine.run(text, {
      overrides: column.overrides,
      files: this.files.peek(),
      ...(seed === undefined ? {} : { seed }),
      ...(watch === undefined ? {} : { watch }),
      onProgress: (fraction, parts) => {
        if (turn !== this.#turn) {
          return;
        }
        recording.add(parts);
        if (parts.length > 0) {
          column.recording = recording;
        }
        column.fraction.value = fraction;
        if (frame === 0 && !prefersStillness()) {
          frame = requestAnimationFrame(() => {
            frame = 0;
            if (column.state.peek() === "running") {
              column.version.value += 1;
            }
          });
        }
      },
    });
    column.job = job;
    void job.ended.then(outcome => {
      if (turn !== this.#turn || outcome === "cancelled") {
        return;
      }
      batch(() => {
        column.job = undefined;
        column.fraction.value = 1;
        column.wall_ms.value = performance.now() - started;
        if ("fault" in outcome) {
          column.state.value = "failed";
          column.fault.value = outcome.fault;
        } else {
          recording.finish(outcome.result.series);
          column.recording = recording;
          column.result.value = outcome.result;
          column.state.value = "done";
        }
        column.version.value += 1;
      });
    });
  }
}

function prefersStillness(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** The refusal of a scenario that no page of a browser can run. */
function refusalOf(facts: Facts): Fault | undefined {
  const refused = (message: string, help: string): Fault => ({
    kind: "run",
    message,
    label: "",
    help,
    span: undefined,
    rendered: message,
  });
  const python = facts.python_classes[0];
  if (python !== undefined) {
    return refused(`the scenario uses ${python}, which is written in Python`, "run it with `forebay run`");
  }
  return undefined;
}
