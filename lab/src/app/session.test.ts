// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Facts, Fault, Override, RunResult } from "../engine/protocol";
import type { Engine, Running, RunOptions } from "./engine";
import { Session } from "./session";

const QUEUE = "topology.star.bottleneck.queue";

interface Run {
  text: string;
  options: RunOptions;
  finish: (outcome: { result: RunResult } | { fault: Fault }) => void;
  isCancelled: boolean;
}

const fault = (message: string): Fault => ({
  kind: "scenario",
  message,
  label: "",
  help: undefined,
  span: undefined,
  rendered: message,
});

/** An engine that takes texts with `ok`, and whose runs end when a test says so. */
function fakeEngine(python_classes: string[] = []): { engine: Engine; runs: Run[] } {
  const runs: Run[] = [];
  const facts: Facts = {
    name: "test",
    description: "",
    duration_s: 3,
    warmup_s: 0,
    seed: 1,
    flow_count: 1,
    link_count: 1,
    memory_bytes: 1e6,
    has_probes: false,
    python_classes,
    pins: [],
    plan: {
      topology: "star",
      nodes: [],
      links: [{ name: "bottleneck", source: "a", destination: "b", rate_bps: 1e6, delay_s: 0 }],
      queues: [
        {
          name: "bottleneck",
          path: QUEUE,
          role: "bottleneck",
          is_back: false,
          discipline: "drop_tail",
          limit: "9 packets",
          queues: ["bottleneck"],
          links: ["bottleneck"],
        },
      ],
      groups: [],
    },
  };
  const engine: Engine = {
    check: async text => (text.includes("ok") ? { facts } : { fault: fault("not valid") }),
    values: async () => [],
    choices: async () => [],
    schema: async () => ({}),
    fitted: async (_, __, limit) => [["limit", limit ?? "1 packets"]],
    run(text, options = {}): Running<RunResult> {
      const run: Run = { text, options, finish: () => undefined, isCancelled: false };
      runs.push(run);
      const ended = new Promise<{ result: RunResult } | { fault: Fault } | "cancelled">(resolve => {
        run.finish = resolve;
      });
      return {
        ended,
        cancel: () => {
          run.isCancelled = true;
        },
      };
    },
    replay: () => {
      throw new Error("no capture here");
    },
  };
  return { engine, runs };
}

const RESULT = { series: [] } as unknown as RunResult;

function open(engine: Engine, options: { text: string; compare?: string[]; overrides?: Override[] }): Session {
  const session = new Session(engine, options, signal(false));
  session.start();
  return session;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("each discipline runs on the same text with series, fitted to its link", async () => {
  const { engine, runs } = fakeEngine();
  open(engine, { text: "ok", compare: ["drop_tail", "dbl"], overrides: [["a", "1"]] });
  await pass(1);
  expect(runs.map(it => it.options.overrides)).toEqual([
    [
      ["a", "1"],
      ["probes.interval", '"10 ms"'],
      [`${QUEUE}.drop_tail.limit`, '"9 packets"'],
    ],
    [
      ["a", "1"],
      ["probes.interval", '"10 ms"'],
      [QUEUE, '{ dbl = { limit = "9 packets" } }'],
    ],
  ]);
});

test("a change cancels the run before and runs the new text", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok 1" });
  await pass(1);
  session.setText("ok 2", "typed");
  await pass(100);
  session.setText("ok 3", "typed");
  await pass(400);
  expect(runs.map(it => it.text)).toEqual(["ok 1", "ok 3"]);
  expect(runs[0]?.isCancelled).toBe(true);
  runs[0]?.finish({ result: { ...RESULT, digest: "old" } as RunResult });
  runs[1]?.finish({ result: { ...RESULT, digest: "new" } as RunResult });
  await pass(1);
  expect(session.columns.value[0]?.result.value?.digest).toBe("new");
  expect(session.isRunning.value).toBe(false);
});

test("while a slider moves, runs get some time, and the last position is run", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok 0" });
  await pass(1);
  for (let i = 1; i <= 20; i += 1) {
    session.setText(`ok ${i}`, "dragged");
    await pass(10);
  }
  await pass(400);
  expect(runs.length).toBeGreaterThan(1);
  expect(runs.length).toBeLessThan(6);
  expect(runs.at(-1)?.text).toBe("ok 20");
});

test("a drag that meets no run starts one at once", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok 0" });
  await pass(1);
  runs[0]?.finish({ result: RESULT });
  await pass(1000);
  session.setText("ok 1", "dragged");
  await pass(1);
  expect(runs.at(-1)?.text).toBe("ok 1");
});

test("a fault ends the run and keeps the last result", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok" });
  await pass(1);
  runs[0]?.finish({ result: RESULT });
  await pass(1);
  session.setText("wrong", "typed");
  await pass(400);
  expect(session.fault.value?.message).toBe("not valid");
  expect(session.columns.value[0]?.result.value).toBe(RESULT);
  session.setText("ok again", "typed");
  await pass(400);
  expect(session.fault.value).toBeUndefined();
  expect(runs).toHaveLength(2);
});

test("a scenario with a class in Python is refused", async () => {
  const { engine, runs } = fakeEngine(["mine:Law"]);
  const session = open(engine, { text: "ok" });
  await pass(1);
  expect(runs).toHaveLength(0);
  expect(session.fault.value?.message).toContain("mine:Law");
});

test("cancelling keeps the page as it is", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok" });
  await pass(1);
  session.cancel();
  expect(runs[0]?.isCancelled).toBe(true);
  expect(session.columns.value[0]?.state.value).toBe("cancelled");
  runs[0]?.finish({ result: RESULT });
  await pass(1);
  expect(session.columns.value[0]?.result.value).toBeUndefined();
});

test("a run that is under way ends although a change is only checked", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok" });
  await pass(1);
  session.isAutomatic.value = false;
  session.setText("ok changed", "typed");
  await pass(400);
  runs[0]?.finish({ result: RESULT });
  await pass(1);
  expect(session.columns.value[0]?.state.value).toBe("done");
  expect(session.isChanged.value).toBe(true);
});

test("without automatic runs a change is only checked", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok" });
  await pass(1);
  session.isAutomatic.value = false;
  session.setText("ok changed", "typed");
  await pass(400);
  expect(runs).toHaveLength(1);
  expect(session.isChanged.value).toBe(true);
  await session.runNow();
  expect(runs.at(-1)?.text).toBe("ok changed");
  expect(session.isChanged.value).toBe(false);
});

test("charts keep the run before until the next one has values", async () => {
  const { engine, runs } = fakeEngine();
  const session = open(engine, { text: "ok 1" });
  await pass(1);
  const series = {
    kind: "queue",
    name: "bottleneck",
    quantity: "length_packets",
    start_s: 1,
    interval_s: 1,
    states: [],
  };
  runs[0]?.finish({ result: { ...RESULT, series: [{ ...series, values: Float64Array.of(5, 5, 5) }] } });
  await pass(1);
  session.setText("ok 2", "replaced");
  await pass(1);
  const lengths = () => session.columns.value[0]?.recording.find("queue", "length_packets")[0];
  expect([...(lengths()?.values ?? [])]).toEqual([5, 5, 5]);
  runs[1]?.options.onProgress?.(0.3, [{ ...series, first: 0, values: Float64Array.of(1) }]);
  expect([...(lengths()?.values ?? [])]).toEqual([1, 5, 5]);
  expect(lengths()?.filled).toBe(1);
});
