import { describe, expect, it } from "vitest";
import { arrange, cellAt, columnAt, type Extent } from "./geometry";

function extent(packets: number): Extent {
  return {
    packets,
    bytes: packets * 1500,
    largestPacket: 1500,
    laneBytes: packets * 1500,
    lanes: ["a", "b"],
    hasOtherLane: false,
  };
}

describe("arrange", () => {
  for (const width of [280, 358, 800, 1248, 1888])
    for (const packets of [1, 10, 60, 300, 1000, 5000, 100_000]) {
      it(`has room for ${packets} packets in ${width} pixels`, () => {
        for (const arrangement of ["auto", "compact", "lanes"] as const) {
          const geometry = arrange(width, arrangement, extent(packets));
          const { left, right, port, link, top, bottom, floor, height } = geometry;
          expect(left).toBeLessThan(right);
          expect(right).toBeLessThan(port);
          expect(port).toBeLessThan(link);
          expect(link).toBeLessThan(width);
          expect(bottom).toBeLessThan(floor);
          expect(floor).toBeLessThan(height);
          if (geometry.shape === "row")
            expect(packets * 1500 * geometry.scale).toBeLessThanOrEqual(right - left + 1e-9);
          if (geometry.shape === "cells") {
            const last = cellAt(geometry, packets - 1);
            expect(last.x).toBeGreaterThanOrEqual(left);
            expect(last.y).toBeGreaterThanOrEqual(top);
            expect(last.y + geometry.cell).toBeLessThanOrEqual(bottom);
          }
          if (geometry.shape === "columns") expect(columnAt(geometry, packets - 1).x).toBeGreaterThanOrEqual(left);
        }
      });
    }

  it("shows few packets in a row, more as cells, very many as columns", () => {
    expect(arrange(1248, "auto", extent(20)).shape).toBe("row");
    expect(arrange(1248, "auto", extent(500)).shape).toBe("cells");
    expect(arrange(1248, "auto", extent(50_000)).shape).toBe("columns");
    expect(arrange(1248, "compact", extent(20)).shape).toBe("columns");
  });
});

describe("cellAt", () => {
  it("leads from each place to a neighbor, as a line of people turns", () => {
    const geometry = arrange(800, "auto", extent(300));
    const places = Array.from({ length: 300 }, (_, place) => cellAt(geometry, place));
    expect(new Set(places.map(({ x, y }) => `${x} ${y}`)).size).toBe(300);
    for (let place = 1; place < 300; place += 1) {
      const { x, y } = places[place] as { x: number; y: number };
      const { x: lastX, y: lastY } = places[place - 1] as { x: number; y: number };
      expect(Math.abs(x - lastX) + Math.abs(y - lastY)).toBe(geometry.cell);
    }
  });
});
