// @vitest-environment jsdom
import { expect, test } from "vitest";
import { type ChartModel, emptyModel } from "../charts/model";
import type { Facts, RunResult, Value } from "../engine/protocol";
import { defaultPlace, placesOf, queueOverrides, roundInterval, seriesOverrides } from "./contenders";
import { groupOf, sortedFlows } from "./figures";
import { parseRoute } from "./router";
import { flowRows, groupRows, jainOf, percentileOf, reasonsOf } from "./summary";
import { together } from "./together";

const PATH = "topology.star.bottleneck.queue";

const FACTS: Facts = {
  name: "first",
  description: "",
  duration_s: 10,
  warmup_s: 2,
  seed: 1,
  flow_count: 6,
  link_count: 2,
  memory_bytes: 1e6,
  has_probes: false,
  python_classes: [],
  pins: [],
  plan: {
    topology: "star",
    nodes: [],
    links: [
      { name: "bottleneck", source: "router", destination: "sink", rate_bps: 1e7, delay_s: 1e-3 },
      { name: "access-tcp", source: "tcp", destination: "router", rate_bps: 1e8, delay_s: 1e-3 },
    ],
    queues: [
      {
        name: "bottleneck",
        path: PATH,
        role: "bottleneck",
        is_back: false,
        discipline: "drop_tail",
        limit: "100 packets",
        queues: ["bottleneck"],
        links: ["bottleneck"],
      },
      {
        name: "access",
        path: "topology.star.access.queue",
        role: "uplink",
        is_back: false,
        discipline: undefined,
        limit: undefined,
        queues: ["access-tcp"],
        links: ["access-tcp"],
      },
    ],
    groups: [],
  },
};

const fitted = async (discipline: string, rate: string, limit?: string): Promise<[string, string | number][]> => [
  ["limit", limit ?? `${discipline} at ${rate}`],
  ["mean_packet_size", "1500 B"],
];

test("the bottleneck's queue is compared unless another is asked for", () => {
  expect(defaultPlace(FACTS)?.path).toBe(PATH);
  expect(placesOf(FACTS).map(it => it.name)).toEqual(["bottleneck"]);
});

test("a discipline takes the limit of the queue that it replaces", async () => {
  const place = placesOf(FACTS)[0];
  const found = place && (await queueOverrides(FACTS, { text: "", values: [] }, place, "red", fitted));
  expect(found).toEqual([[PATH, '{ red = { limit = "100 packets", mean_packet_size = "1500 B" } }']]);
});

test("the discipline that is written keeps its parameters", async () => {
  const place = placesOf(FACTS)[0];
  const values = [{ path: `${PATH}.drop_tail.limit` }] as Value[];
  const found = place && (await queueOverrides(FACTS, { text: "", values }, place, "drop_tail", fitted));
  expect(found).toEqual([[`${PATH}.drop_tail.mean_packet_size`, '"1500 B"']]);
});

test("series are added where a scenario has none", () => {
  expect(seriesOverrides(FACTS)).toEqual([["probes.interval", '"50 ms"']]);
  expect(seriesOverrides({ ...FACTS, has_probes: true })).toEqual([]);
  expect([roundInterval(0.2 / 300), roundInterval(200), roundInterval(1e-9)]).toEqual(["1 ms", "200 s", "1 ns"]);
});

test("flows belong to the longest fitting name of a group", () => {
  const groups = ["tcp", "tcp-slow", "flood"];
  expect(groupOf("tcp-slow-3", groups)).toBe("tcp-slow");
  expect(groupOf("tcp-3", groups)).toBe("tcp");
  expect(sortedFlows(["flood", "tcp-10", "tcp-2"], groups)).toEqual(["tcp-2", "tcp-10", "flood"]);
});

const RESULT = {
  flows: {
    name: ["tcp-0", "tcp-1", "flood"],
    group: ["tcp", "tcp", "flood"],
    kind: ["tcp", "tcp", "udp"],
    goodput_bps: Float64Array.of(1e6, 3e6, 4e6),
    packets_delivered: Float64Array.of(100, 300, 0),
    packets_dropped: Float64Array.of(0, 100, 0),
    packets_marked: Float64Array.of(1, 2, 0),
    delay_mean_s: Float64Array.of(0.01, 0.02, Number.NaN),
    delay_p99_s: Float64Array.of(0.02, 0.03, Number.NaN),
  },
  delays: {
    group: ["tcp", "tcp", "flood"],
    delay_s: Float64Array.of(0.01, 0.05, 1),
    packets: Float64Array.of(99, 1, 1),
  },
  queues: {
    name: ["bottleneck", "other"],
    dropped_overflow: Float64Array.of(2, 50),
    dropped_early: Float64Array.of(7, 0),
    dropped_match: Float64Array.of(0, 0),
  },
} as unknown as RunResult;

test("a group has sums, and means over its packets", () => {
  const [tcp, flood] = groupRows(RESULT);
  expect(tcp).toMatchObject({ name: "tcp", flows: 2, goodput_bps: 4e6, loss: 0.2, packets_marked: 3 });
  expect(tcp?.delay_mean_s).toBeCloseTo(0.0175);
  expect(flood?.delay_mean_s).toBeNaN();
  expect(flowRows(RESULT)[1]?.loss).toBe(0.25);
});

test("percentiles come from the histogram", () => {
  expect(percentileOf(RESULT.delays, "tcp", 0.99)).toBe(0.01);
  expect(percentileOf(RESULT.delays, "tcp", 1)).toBe(0.05);
  expect(percentileOf(RESULT.delays, "none", 0.5)).toBeNaN();
});

test("drops have their reasons, those of the compared queue only", () => {
  expect(reasonsOf(RESULT, ["bottleneck"])).toEqual([
    { name: "early", packets: 7 },
    { name: "overflow", packets: 2 },
  ]);
});

test("Jain's index is one for equal shares", () => {
  expect(jainOf([2, 2, 2])).toBeCloseTo(1);
  expect(jainOf([1, 0, 0, 0])).toBeCloseTo(0.25);
});

test("routes are read from fragments, and damaged ones do not throw", () => {
  expect(parseRoute("#/story/flood/2").path).toEqual(["story", "flood", "2"]);
  expect(parseRoute("#/lab?s=a%2Bb").parameters.get("s")).toBe("a+b");
  expect(parseRoute("#main").path).toEqual([]);
  expect(parseRoute("#/a%ZZ").path).toEqual(["a%ZZ"]);
});

const model = (label: string, xs: number[], lines: number[][], quantity = "time_s"): ChartModel => ({
  ...emptyModel(label, quantity, "length_packets"),
  xs: Float64Array.from(xs),
  isStepped: quantity !== "time_s",
  lines: lines.map((values, i) => ({ key: `q${i}`, label: `q${i}`, values: Float64Array.from(values), look: i })),
});

test("disciplines share a chart: their colors tell them apart, or their dashes", () => {
  const one = together([model("a", [1, 2], [[1, 2]]), model("a", [1, 2], [[3, 4]])], ["red", "dbl"]);
  expect(one?.lines.map(it => [it.label, it.look, ...it.values])).toEqual([
    ["red", 0, 1, 2],
    ["dbl", 1, 3, 4],
  ]);
  const two = together([model("a", [1], [[1], [2]]), model("a", [1], [[3], [4]])], ["red", "dbl"]);
  expect(two?.lines.map(it => [it.label, it.look])).toEqual([
    ["red: q0", 0],
    ["red: q1", 1],
    ["dbl: q0", 7],
    ["dbl: q1", 8],
  ]);
  expect(together([model("a", [1], [[1], [1], [1], [1]]), model("a", [1], [[1]])], ["red", "dbl"])).toBeUndefined();
});

test("distributions over different delays share all of them", () => {
  const one = together(
    [model("a", [1, 3], [[0.5, 1]], "delay_s"), model("a", [2, 3], [[0.2, 1]], "delay_s")],
    ["red", "dbl"],
  );
  expect([...(one?.xs ?? [])]).toEqual([1, 2, 3]);
  expect(one?.lines.map(it => [...it.values])).toEqual([
    [0.5, 0.5, 1],
    [0, 0.2, 1],
  ]);
});
