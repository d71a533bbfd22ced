import { describe, expect, it } from "vitest";
import { expressible, plain, readBound, readNumber, writeNumber } from "./quantity";
import { find, locate, setValue } from "./set-value";

const TEXT = `duration = "10 s" # ten
[topology.star]
bottleneck = { rate = '100Mbps', delay = "1 ms", queue.sfb = { limit = "  64 KiB ", increment = 0.0025, levels = 2 } }

[[flows]]
name = "tcp"
count = 5

[[flows]]
name = "a.b"
start = { uniform = ["0 s", "1 s"] }
transport.udp = { constant = { rate = "1_000 kbps", jitter = 0 } }
`;

function written(path: string, number: number, isIntegral?: boolean): string {
  const value = find(TEXT, path);
  if (!value) {
    return "nothing";
  }
  const changed = setValue(TEXT, value, number, isIntegral);
  const end = TEXT.length - value.to;
  expect(changed.slice(0, value.from)).toBe(TEXT.slice(0, value.from));
  expect(changed.slice(changed.length - end)).toBe(TEXT.slice(value.to));
  return changed.slice(value.from, changed.length - end);
}

describe("a number set in a text", () => {
  it.each([
    ["duration", 2.5, '"2.5 s"'],
    ["topology.star.bottleneck.rate", 20, "'20Mbps'"],
    ["topology.star.bottleneck.rate", 0.1, "'0.1Mbps'"],
    ["topology.star.bottleneck.delay", 0.30000000000000004, '"0.3 ms"'],
    ["topology.star.bottleneck.queue.sfb.limit", 12.3, '"  12.25 KiB "'],
    ["topology.star.bottleneck.queue.sfb.increment", 0.00001, "0.00001"],
    ["topology.star.bottleneck.queue.sfb.increment", 1, "1.0"],
    ["topology.star.bottleneck.queue.sfb.levels", 3.7, "4"],
    ["flows.tcp.count", 7, "7"],
    ["flows.0.count", 1e6, "1000000"],
    ['flows."a.b".start.uniform.1', 3, '"3 s"'],
    ["flows.1.transport.udp.constant.rate", 0.0005, '"0.001 kbps"'],
    ["flows.1.transport.udp.constant.rate", -1, '"0 kbps"'],
  ])("%s = %d is written as %s", (path, number, expected) => {
    expect(written(path, number)).toBe(expected);
  });

  it("becomes a fraction where the key takes one", () => {
    expect(written("flows.1.transport.udp.constant.jitter", 0.25, false)).toBe("0.25");
    expect(written("flows.1.transport.udp.constant.jitter", 0.25)).toBe("0");
  });

  it("leaves the text as it is for no number", () => {
    const value = find(TEXT, "flows.tcp.count");
    expect(value && setValue(TEXT, value, Number.NaN)).toBe(TEXT);
    expect(value && setValue("a = 1", value, 3)).toBe("a = 1");
    expect(find(TEXT, "flows.tcp.name")).toBeUndefined();
    expect(find(TEXT, "flows.tcp")).toBeUndefined();
    expect(find(TEXT, "")).toBeUndefined();
  });

  it("is found again after the text has moved", () => {
    const value = find(TEXT, "flows.tcp.count");
    const moved = `# a new line\n${TEXT}`;
    expect(value && locate(moved, value)?.from).toBe((value?.from ?? 0) + 13);
    expect(value && setValue(moved, value, 6)).toBe(moved.replace("count = 5", "count = 6"));
    // The same text at the same place is another value now.
    const other = 'x = 5\ny = "5 s"';
    const stale = { path: "y", from: 4, to: 5, text: "5" };
    expect(setValue(other, stale, 7)).toBe('x = 5\ny = "7 s"');
  });

  it("reads back as it was set", () => {
    for (const text of ["1", "1.5", "0", '"1 ms"', "'2.5 Gbps'", '"3 packets"', '"10 KB"', "-1.5", '"""7 s"""']) {
      for (const number of [0, 1, 2, 3.25, 1234.5, 0.001, 1e-7]) {
        const before = readNumber(text);
        const isIntegral = before?.isIntegral ?? false;
        const expected = isIntegral ? Math.round(number) : expressible(number, before?.unit ?? "");
        expect(readNumber(writeNumber(text, number, isIntegral) ?? "")?.number, `${text} ${number}`).toBe(expected);
      }
    }
  });
});

describe("numbers and units", () => {
  it("reads TOML's numbers, and no others", () => {
    expect(readNumber("1_000")?.number).toBe(1000);
    expect(readNumber("0x10")?.number).toBe(16);
    expect(readNumber("-2.5e3")?.number).toBe(-2500);
    expect(readNumber('"1.5 Mb/s"')).toEqual({ number: 1.5, unit: "Mb/s", isIntegral: false });
    expect(readNumber('"5 µs"')?.unit).toBe("µs");
    for (const text of ['"a"', "true", '"1 s', "inf", '"6/5"', "", '"1.2.3 s"', '"one 1 s"', "1979-05-27"]) {
      expect(readNumber(text), text).toBeUndefined();
    }
  });

  it("converts bounds", () => {
    expect(readBound("1 Mbps", "Gbps")).toBe(0.001);
    expect(readBound("1 s", "ms")).toBe(1000);
    expect(readBound('"2 KiB"', "B")).toBe(2048);
    expect(readBound("0.5", "")).toBe(0.5);
    expect(readBound("1 Mbps", "ms")).toBeUndefined();
    expect(readBound("1 packet", "packets")).toBe(1);
    expect(readBound("many", "packets")).toBeUndefined();
  });

  it("writes no exponents", () => {
    expect(plain(1.5e-7)).toBe("0.00000015");
    expect(plain(1e21)).toBe("1000000000000000000000");
    expect(plain(-1e-7)).toBe("-0.0000001");
  });
});
