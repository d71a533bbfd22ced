import { describe, expect, it } from "vitest";
import type { Bounds } from "../editor/schema";
import { readNumber } from "./quantity";
import { nearestStop, type Range, rangeOf } from "./range";

function range(text: string, pin: { from?: string; to?: string } = {}, bounds?: Bounds, path = "a"): Range {
  const { number, unit } = readNumber(text) ?? { number: 0, unit: "" };
  const value = { path, from: 0, to: text.length, text, number, unit };
  return rangeOf(value, { key: path, from: undefined, to: undefined, label: undefined, ...pin }, bounds);
}

const ends = ({ from, to }: Range) => [from, to];

describe("the range of a slider", () => {
  it("is from a tenth to ten times", () => {
    expect(ends(range('"10 Mbps"'))).toEqual([1, 100]);
    expect(ends(range("0.3"))).toEqual([0.03, 3]);
    expect(range('"10 Mbps"').isLogarithmic).toBe(true);
  });

  it("has integers only, for integers and units without fractions", () => {
    for (const text of ["5", '"100 packets"', '"1500 B"']) {
      const { stops, isIntegral } = range(text);
      expect(isIntegral).toBe(true);
      expect(stops.every(Number.isInteger)).toBe(true);
    }
    expect(ends(range("5"))).toEqual([1, 50]);
    expect(range("5").stops).toHaveLength(50);
  });

  it("stays within the bounds of the schema, and shares within 1", () => {
    const bounds = { least: 0, most: 1, integral: false };
    expect(ends(range("0.5", {}, bounds))).toEqual([0.05, 1]);
    expect(ends(range("1", {}, { least: 0, most: 7, integral: true }))).toEqual([1, 7]);
    expect(ends(range("0.02", {}, undefined, "queue.red.max_probability"))).toEqual([0.002, 0.2]);
    expect(ends(range("0.5", {}, undefined, "queue.red.max_probability"))).toEqual([0.05, 1]);
    expect(ends(range("0", {}, bounds))).toEqual([0, 1]);
    expect(range("0", {}, bounds).isIntegral).toBe(false);
    expect(ends(range("0"))).toEqual([0, 10]);
  });

  it("is that of the pin, in the unit of the text", () => {
    expect(ends(range('"10 Mbps"', { from: "1 kbps", to: "1 Gbps" }))).toEqual([0.001, 1000]);
    expect(ends(range('"10 ms"', { from: "0 s", to: "50 ms" }))).toEqual([0, 50]);
    expect(range('"10 ms"', { from: "0 s", to: "50 ms" }).isLogarithmic).toBe(false);
    expect(ends(range('"10 ms"', { to: "50 ms" }))).toEqual([1, 50]);
    expect(ends(range('"10 ms"', { from: "50 ms", to: "5 ms" }))).toEqual([5, 50]);
    expect(ends(range('"10 ms"', { from: "1 s" }))).toEqual([1000, 10000]);
    expect(ends(range('"10 ms"', { from: "no time" }))).toEqual([1, 100]);
  });

  it("has ascending stops with the number, the ends and round numbers", () => {
    for (const text of ['"12.34 Mbps"', "7", "0.0123", '"0 s"', '"3 packets"', "-2.5", '"1.5 KiB"', "1e9"]) {
      const { stops, from, to } = range(text);
      expect(stops[0], text).toBe(from);
      expect(stops.at(-1)).toBe(to);
      expect(stops).toContain(readNumber(text)?.number);
      expect(stops.length).toBeGreaterThan(9);
      expect(stops.length).toBeLessThan(400);
      expect([...stops].sort((one, other) => one - other)).toEqual(stops);
      expect(new Set(stops).size).toBe(stops.length);
      stops.forEach((stop, index) => {
        expect(nearestStop(range(text), stop)).toBe(index);
      });
    }
    expect(range('"10 Mbps"').stops).toEqual(expect.arrayContaining([1, 1.5, 2, 2.1, 10, 20, 52, 100]));
    expect(range('"10 Mbps"', { from: "0 bps", to: "20 Mbps" }).stops.slice(0, 3)).toEqual([0, 0.2, 0.4]);
  });

  it("is a single stop where both ends are the same", () => {
    expect(range('"1 s"', { from: "1 s", to: "1 s" }).stops).toEqual([1]);
  });
});
