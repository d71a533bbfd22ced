import { expect, test } from "vitest";
import type { SeriesPart } from "../engine/protocol";
import { Recording } from "./recording";

function part(first: number, values: number[], name = "bottleneck"): SeriesPart {
  return {
    kind: "queue",
    name,
    quantity: "length_packets",
    start_s: 0.1,
    interval_s: 0.1,
    first,
    values: Float64Array.from(values),
    states: [],
  };
}

test("parts become series", () => {
  const recording = new Recording(1);
  recording.add([part(0, [1, 2])]);
  recording.add([part(2, [3])]);
  const [trace] = recording.find("queue", "length_packets");
  expect(trace?.filled).toBe(3);
  expect([...(trace?.values.subarray(0, 4) ?? [])]).toEqual([1, 2, 3, Number.NaN]);
  expect(recording.front_s).toBeCloseTo(0.3);
});

test("a series grows beyond the expected length", () => {
  const recording = new Recording(0.2);
  recording.add([part(0, Array(200).fill(7))]);
  expect(recording.find("queue", "length_packets")[0]?.filled).toBe(200);
});

test("a new run sweeps over the values of the run before, and does not change them", () => {
  const before = new Recording(1);
  before.finish([{ ...part(0, [5, 5, 5]), states: [] }]);
  const recording = new Recording(1, before);
  recording.add([part(0, [1])]);
  expect([...(recording.find("queue", "length_packets")[0]?.values ?? [])]).toEqual([1, 5, 5]);
  expect([...(before.find("queue", "length_packets")[0]?.values ?? [])]).toEqual([5, 5, 5]);
});

test("values of a run of another length are not kept", () => {
  const before = new Recording(2);
  before.finish([{ ...part(0, [5, 5, 5]), states: [] }]);
  const recording = new Recording(1, before);
  recording.add([part(0, [1])]);
  expect(recording.find("queue", "length_packets")[0]?.values[1]).toBeNaN();
});
