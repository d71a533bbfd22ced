// A worker: it answers one request after the other, and does not hear anything while it does.

import type { FromWorker, Request, ToWorker } from "./messages";
import type { Fault, SeriesPart } from "./protocol";
import { check, fittedQueue, initSync, numbers, replay, run } from "./wasm/forebay_wasm";

/** Often enough for a chart that moves, seldom enough to cost nothing. */
const PROGRESS_INTERVAL_MS = 50;

const send = (message: FromWorker, transfer: Transferable[] = []) => postMessage(message, { transfer });

self.addEventListener("message", (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  if ("module" in message) {
    initSync({ module: message.module });
    return;
  }
  const { id, request } = message;
  try {
    const done = answer(id, request);
    send({ id, done }, buffers(done));
  } catch (thrown) {
    // The engine throws faults. All else is a panic, after which its memory may be in any state.
    const isFault = typeof thrown === "object" && thrown !== null && "kind" in thrown;
    send({ id, fault: isFault ? (thrown as Fault) : panicked(thrown), isOver: !isFault });
  }
});

function answer(id: number, request: Request): unknown {
  switch (request.kind) {
    case "check":
      return check(request.text, request.overrides, request.files);
    case "numbers":
      return numbers(request.text, request.files);
    case "fitted":
      return fittedQueue(request.discipline, request.parameters, request.rate, request.limit);
    case "run":
      return run(request.text, request.overrides, request.files, request.seed, request.watch, progress(id));
    case "replay":
      return replay(request.capture, request.options, progressOfReplay(id));
  }
}

/** Reports the progress of a run to the page, with the values of series that are new. */
function progress(id: number): (fraction: number) => boolean | ((parts: SeriesPart[]) => void) {
  let reported = performance.now();
  return fraction => {
    const now = performance.now();
    if (now - reported < PROGRESS_INTERVAL_MS) {
      return true;
    }
    reported = now;
    return parts => send({ id, progress: fraction, parts }, buffers(parts));
  };
}

/** Reports the progress of a replay, which has no series before its end. */
function progressOfReplay(id: number): (fraction: number) => boolean {
  const report = progress(id);
  return fraction => {
    const answer = report(fraction);
    if (typeof answer === "function") {
      answer([]);
    }
    return true;
  };
}

/** The memory of typed arrays: it is handed over, not copied. */
function buffers(value: unknown, found: Transferable[] = []): Transferable[] {
  if (ArrayBuffer.isView(value)) {
    found.push(value.buffer as ArrayBuffer);
  } else if (Array.isArray(value)) {
    // Lists of numbers and texts have none, and may be long.
    if (typeof value[0] === "object") {
      for (const element of value) {
        buffers(element, found);
      }
    }
  } else if (typeof value === "object" && value !== null) {
    for (const element of Object.values(value)) {
      buffers(element, found);
    }
  }
  return found;
}

function panicked(thrown: unknown): Fault {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const outOfMemory = /memory|allocation/i.test(message);
  return {
    kind: outOfMemory ? "run" : "internal",
    message: outOfMemory ? "the run needs more memory than the page has" : "the engine stopped: a fault in Forebay",
    label: "",
    help: outOfMemory ? "shorten it, or run it with `forebay run`" : `please report it with the scenario: ${message}`,
    span: undefined,
    rendered: message,
  };
}
