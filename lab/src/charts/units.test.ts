import { expect, test } from "vitest";
import { columnScale, numberText, scaleOf, textWithUnit, titleOf } from "./units";

test("a quantity has the prefix that fits its largest value", () => {
  expect(scaleOf("goodput_bps", 2.5e6)).toEqual({ divisor: 1e6, unit: "Mb/s" });
  expect(scaleOf("delay_s", 0.012)).toEqual({ divisor: 1e-3, unit: "ms" });
  expect(scaleOf("delay_s", 0)).toEqual({ divisor: 1, unit: "s" });
  expect(scaleOf("utilization", 1)).toEqual({ divisor: 0.01, unit: "%" });
  expect(scaleOf("length_packets", 70)).toEqual({ divisor: 1, unit: "packets" });
  expect(scaleOf("p_mark", 0.3)).toEqual({ divisor: 1, unit: "" });
});

test("titles leave out the unit", () => {
  expect(titleOf("congestion_window_bytes")).toBe("Congestion window");
  expect(titleOf("rtt_s")).toBe("Round-trip time");
});

test("numbers have no exponent and keep all digits before the point", () => {
  expect(numberText(12_707)).toBe("12,707");
  expect(numberText(123_456_789, 3)).toBe("123,456,789");
  expect(numberText(0.000_012_34, 3)).toBe("0.0000123");
  expect(numberText(Number.NaN)).toBe("–");
  expect(textWithUnit("time_s", 0.25)).toBe("250 ms");
});

test("a column has the unit of its smallest value, unless the largest gets too long", () => {
  expect(columnScale("goodput_bps", [64e3, 6.4e6]).unit).toBe("kb/s");
  expect(columnScale("goodput_bps", [64e3, 64e6]).unit).toBe("Mb/s");
  expect(columnScale("goodput_bps", [0, Number.NaN]).unit).toBe("b/s");
});
