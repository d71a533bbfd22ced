// @vitest-environment jsdom
import { expect, test } from "vitest";
import { csvOf } from "./csv";
import { distributionModel, distributionsOf } from "./distribution";
import { svgOf, thinned } from "./drawing";
import { aligned, averaged, emptyModel, merged, periodsOf, sampledRows, summed, zoomed } from "./model";
import type { Trace } from "./recording";
import { logTicksOf, ticksOf } from "./ticks";

function trace(start_s: number, interval_s: number, values: number[], states: string[] = []): Trace {
  return {
    kind: "flow",
    name: "tcp",
    quantity: "goodput_bps",
    start_s,
    interval_s,
    values: Float64Array.from(values),
    filled: values.length,
    states,
  };
}

test("a series that begins later is placed later", () => {
  const { xs, values } = aligned([trace(0.1, 0.1, [1, 2, 3]), trace(0.2, 0.1, [5])]);
  expect([...xs].map(it => Math.round(it * 10))).toEqual([1, 2, 3]);
  expect([...(values[1] ?? [])]).toEqual([Number.NaN, 5, Number.NaN]);
});

test("series of different intervals share all times", () => {
  const { xs, values } = aligned([trace(1, 1, [1, 2, 3]), trace(1, 2, [10, 30])]);
  expect([...xs]).toEqual([1, 2, 3]);
  expect([...(values[1] ?? [])]).toEqual([10, 10, 30]);
});

test("sums and means leave out missing values", () => {
  const sum = summed([Float64Array.of(1, Number.NaN, Number.NaN), Float64Array.of(2, 3, Number.NaN)]);
  expect([...sum]).toEqual([3, 3, Number.NaN]);
  const mean = averaged([Float64Array.of(1, Number.NaN, Number.NaN), Float64Array.of(2, 3, Number.NaN)]);
  expect([...mean]).toEqual([1.5, 3, Number.NaN]);
});

test("merged counts are sums, merged maxima stay, all else is a mean", () => {
  const values = [1, 3, 5, Number.NaN, 7];
  const of = (quantity: string) => [...merged({ ...trace(0, 0.1, values), quantity }, 2).values];
  expect(of("packets_dropped")).toEqual([4, 5, 7]);
  expect(of("delay_max_s")).toEqual([3, 5, 7]);
  expect(of("delay_mean_s")).toEqual([2, 5, 7]);
  const { start_s, interval_s } = merged(trace(0.1, 0.1, values), 2);
  expect([start_s, interval_s]).toEqual([0.2, 0.2]);
});

test("rows of a table keep the first and the last value", () => {
  expect(sampledRows(3, 10)).toEqual([0, 1, 2]);
  const rows = sampledRows(1000, 5);
  expect([rows.length, rows[0], rows.at(-1)]).toEqual([5, 0, 999]);
});

test("states become bands, and the steady ones have none", () => {
  const bands = periodsOf(trace(1, 1, [0, 0, 1, 1, 0], ["slow_start", "congestion_avoidance"]), state =>
    state === "slow_start" ? "red" : "",
  );
  expect(bands.map(it => [it.from, it.to])).toEqual([
    [1, 3],
    [5, 6],
  ]);
});

const DELAYS = {
  group: ["tcp", "tcp", "flood"],
  delay_s: Float64Array.of(0.001, 0.1, 0.01),
  packets: Float64Array.of(3, 1, 5),
};

test("a distribution ends at one", () => {
  const found = distributionsOf(DELAYS, "group");
  expect(found.map(it => [it.name, it.shares])).toEqual([
    ["tcp", [0.75, 1]],
    ["flood", [1]],
  ]);
});

test("distributions share their delays, and wide ones have a logarithmic axis", () => {
  const model = distributionModel(DELAYS, "group", () => 0);
  expect(model.xIsLog).toBe(true);
  expect([...model.xs].slice(1)).toEqual([0.001, 0.01, 0.1]);
  expect([...(model.lines[0]?.values ?? [])]).toEqual([0, 0.75, 0.75, 1]);
  expect([...(model.lines[1]?.values ?? [])]).toEqual([0, 0, 1, 1]);
});

test("ticks are round and within the range", () => {
  expect(ticksOf(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticksOf(0.3, 1.1, 4).map(it => it.toFixed(2))).toEqual(["0.40", "0.60", "0.80", "1.00"]);
  expect(logTicksOf(0.0015, 0.3).map(it => it.toFixed(3))).toEqual([
    "0.002",
    "0.005",
    "0.010",
    "0.020",
    "0.050",
    "0.100",
    "0.200",
  ]);
});

test("a zoom stays within the whole, and the whole is no zoom", () => {
  expect(zoomed([0, 10], 4, 0.5, [0, 10])).toEqual([2, 7]);
  expect(zoomed([2, 7], 4, 2, [0, 10])).toBeUndefined();
});

test("thinning keeps the extremes", () => {
  const values = new Float64Array(10_000);
  values[5_001] = 9;
  values[7_003] = -4;
  const kept = thinned(values, 200).map(it => values[it]);
  expect(kept.length).toBeLessThan(400);
  expect(Math.max(...(kept as number[]))).toBe(9);
  expect(Math.min(...(kept as number[]))).toBe(-4);
});

test("a picture holds its lines, and names with markup stay text", () => {
  const model = {
    ...emptyModel("Goodput <b>", "time_s", "goodput_bps"),
    xRange: [0, 2] as [number, number],
    bands: [
      { from: 0, to: 0.5, label: "slow_start", color: "#c98500" },
      { from: 1, to: 1.5, label: "slow_start", color: "#c98500" },
    ],
    xs: Float64Array.of(0, 1, 2),
    lines: [
      { key: "a", label: "<script>alert(1)</script>", values: Float64Array.of(1e6, Number.NaN, 3e6), look: 0 },
      { key: "b", label: "hidden", values: Float64Array.of(1, 1, 1), look: 1 },
    ],
  };
  const svg = svgOf(model, new Set(["b"]), [0, 2]);
  const page = new DOMParser().parseFromString(svg, "image/svg+xml");
  expect(page.querySelector("parsererror")).toBeNull();
  expect(page.querySelector("script")).toBeNull();
  const texts = [...page.querySelectorAll("text")].map(it => it.textContent);
  expect(texts).toContain("slow start");
  expect(texts).toContain("<script>alert(1)</script>");
  expect(texts).toContain("Goodput (Mb/s)");
  expect(texts).not.toContain("hidden");
  const lines = [...page.querySelectorAll("path")].map(it => it.getAttribute("d") ?? "");
  // The missing value breaks the line.
  expect(lines.filter(it => it.split("M").length === 3)).toHaveLength(1);
});

test("a table for other programs has all values, and no name becomes a formula", () => {
  const model = {
    ...emptyModel("Goodput", "time_s", "goodput_bps"),
    xs: Float64Array.of(0.1, 0.1 + 0.2),
    lines: [
      { key: "a", label: "=cmd()", values: Float64Array.of(1e6, Number.NaN), look: 0 },
      { key: "b", label: 'a "b", c', values: Float64Array.of(1, 2), look: 1 },
    ],
  };
  expect(csvOf(model)).toBe(`time_s,'=cmd() goodput_bps,"a ""b"", c goodput_bps"\n0.1,1000000,1\n0.3,,2\n`);
});
