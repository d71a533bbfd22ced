// The engine as the page sees it: questions to workers, and runs that can be cancelled.

import type { Answers, Files, FromWorker, Request, ToWorker } from "./messages";
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
} from "./protocol";
import choicesUrl from "./wasm/choices.json?url";
import moduleUrl from "./wasm/forebay_wasm_bg.wasm?url";
import EngineWorker from "./worker?worker";

/** The end of a run or of a replay. */
export type Ended<T> = { result: T } | { fault: Fault } | "cancelled";

export interface Running<T> {
  ended: Promise<Ended<T>>;
  /** Ends it at once. Nothing happens if it has ended. */
  cancel(): void;
}

export type OnProgress = (fraction: number, parts: SeriesPart[]) => void;

export interface RunOptions {
  overrides?: Override[];
  files?: Files;
  seed?: bigint;
  watch?: Watch;
  onProgress?: OnProgress;
}

/** Idle workers that are kept: a comparison of three queues, and one for questions. */
const MOST_IDLE = 4;

const module: Promise<WebAssembly.Module> = WebAssembly.compileStreaming(fetch(moduleUrl));
// Who awaits it gets the error.
module.catch(() => undefined);

let lastId = 0;

/** A worker that has one task at a time. */
class Channel {
  private readonly worker = new EngineWorker();
  private pending: { id: number; onProgress: OnProgress | undefined; end: (ended: Ended<unknown>) => void } | undefined;

  constructor(module: WebAssembly.Module) {
    this.worker.addEventListener("message", (event: MessageEvent<FromWorker>) => this.receive(event.data));
    this.worker.addEventListener("error", event => {
      event.preventDefault();
      this.finish({ fault: stopped(event.message) }, false);
    });
    this.post({ module });
  }

  ask(request: Request, onProgress: OnProgress | undefined, end: (ended: Ended<unknown>) => void): void {
    lastId += 1;
    this.pending = { id: lastId, onProgress, end };
    this.post({ id: lastId, request });
  }

  /** Ends the worker with its task. */
  stop(): void {
    this.finish("cancelled", false);
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private receive(message: FromWorker): void {
    if (message.id !== this.pending?.id) {
      return;
    }
    if ("progress" in message) {
      this.pending.onProgress?.(message.progress, message.parts);
    } else if ("fault" in message) {
      this.finish({ fault: message.fault }, !message.isOver);
    } else {
      this.finish({ result: message.done }, true);
    }
  }

  private finish(ended: Ended<unknown>, keep: boolean): void {
    const pending = this.pending;
    this.pending = undefined;
    if (keep && idle.length < MOST_IDLE) {
      idle.push(this);
    } else {
      this.worker.terminate();
    }
    pending?.end(ended);
  }
}

const idle: Channel[] = [];

/** Starts a task on an idle worker, or on a new one. */
function start<T>(request: Request, onProgress?: OnProgress): Running<T> {
  let channel: Channel | undefined;
  let isCancelled = false;
  const ended = new Promise<Ended<T>>(resolve => {
    const end = (it: Ended<unknown>) => resolve(it as Ended<T>);
    module.then(
      module => {
        if (isCancelled) {
          end("cancelled");
          return;
        }
        channel = idle.pop() ?? new Channel(module);
        channel.ask(request, onProgress, it => {
          channel = undefined;
          end(it);
        });
      },
      error => end({ fault: stopped(String(error)) }),
    );
  });
  const cancel = () => {
    isCancelled = true;
    channel?.stop();
    if (idle.length === 0) {
      // The next run, which mostly follows at once, finds a worker that is ready.
      module.then(module => idle.length === 0 && idle.push(new Channel(module)));
    }
  };
  return { ended, cancel };
}

function stopped(message: string): Fault {
  return {
    kind: "internal",
    message: "the engine could not be started",
    label: "",
    help: `load the page again; the browser says: ${message}`,
    span: undefined,
    rendered: message,
  };
}

async function answerTo<K extends keyof Answers>(request: Extract<Request, { kind: K }>): Promise<Ended<Answers[K]>> {
  return start<Answers[K]>(request).ended;
}

/** Validates a scenario. */
export async function check(
  text: string,
  overrides: Override[] = [],
  files: Files = {},
): Promise<{ facts: Facts } | { fault: Fault }> {
  const ended = await answerTo<"check">({ kind: "check", text, overrides, files });
  if (ended === "cancelled") {
    throw new Error("a question is not cancelled");
  }
  return "result" in ended ? { facts: ended.result } : ended;
}

/** The numbers and quantities in the text of a valid scenario; none in another text. */
export async function values(text: string, files: Files = {}): Promise<Value[]> {
  const ended = await answerTo<"numbers">({ kind: "numbers", text, files });
  return ended !== "cancelled" && "result" in ended ? ended.result : [];
}

/** The parameters of a discipline that depend on its link and its buffer, as in `forebay compare`. */
export async function fitted(
  discipline: string,
  rate: string,
  limit?: string,
): Promise<[name: string, value: string | number][]> {
  const choice = (await choices()).find(choice => choice.kind === "discipline" && choice.name === discipline);
  const parameters = (choice?.parameters ?? []).map(parameter => parameter.name);
  const ended = await answerTo<"fitted">({ kind: "fitted", discipline, parameters, rate, limit });
  return ended !== "cancelled" && "result" in ended ? ended.result : [];
}

/** Runs a scenario. */
export function run(text: string, options: RunOptions = {}): Running<RunResult> {
  const { overrides = [], files = {}, seed, watch, onProgress } = options;
  return start({ kind: "run", text, overrides, files, seed, watch }, onProgress);
}

/** Replays a capture. */
export function replay(
  capture: Uint8Array,
  options: ReplayOptions,
  { onProgress }: { onProgress?: OnProgress } = {},
): Running<ReplayResult> {
  return start({ kind: "replay", capture, options }, onProgress);
}

let loaded: Promise<Choice[]> | undefined;

/** The names that a scenario may choose: disciplines, schedulers, transports, topologies and others. */
export function choices(): Promise<Choice[]> {
  loaded ??= fetch(choicesUrl).then(response => response.json() as Promise<Choice[]>);
  return loaded;
}
