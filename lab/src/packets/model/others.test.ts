import { describe, expect, it } from "vitest";
import { crossbarLog, pauseLog, uniform } from "../testing/logs";
import { CrossbarModel } from "./crossbar";
import { formatBytes, formatCount, formatRate, formatSlowness, formatSpan, formatTime } from "./format";
import { PauseModel } from "./pause";

describe("CrossbarModel", () => {
  const log = crossbarLog(5, 400, 1e-6, 1, 2);
  const model = new CrossbarModel(log);

  it("finds the phase of each time", () => {
    expect(model.phaseAt(1.9)).toBeUndefined();
    const draw = uniform(1);
    for (let sample = 0; sample < 200; sample += 1) {
      const time_s = 2 + draw() * 5e-4;
      let expected = -1;
      log.times_s.forEach((start_s, phase) => {
        if (start_s <= time_s) expected = phase;
      });
      expect(model.phaseAt(time_s)).toBe(expected);
    }
  });

  it("sums lengths by input, by output and over all", () => {
    for (const phase of [0, 100, 399]) {
      let sum = 0;
      for (let port = 0; port < 5; port += 1) {
        sum += model.inputBacklog(phase, port) - model.outputBacklog(phase, port);
        let column = 0;
        for (let input = 0; input < 5; input += 1) column += model.length(phase, input, port);
        expect(model.outputBacklog(phase, port)).toBe(column);
      }
      expect(sum).toBe(0);
      const voqs = model.longest(phase, 99);
      expect(voqs.reduce((total, voq) => total + voq.length, 0)).toBe(model.backlog(phase));
      expect(voqs.map(voq => voq.length)).toEqual(voqs.map(voq => voq.length).sort((a, b) => b - a));
    }
  });

  it("has at most one input for each output", () => {
    for (let phase = 0; phase < model.phaseCount; phase += 1) {
      const outputs = [0, 1, 2, 3, 4].map(input => model.match(phase, input)).filter(output => output !== undefined);
      expect(new Set(outputs).size).toBe(outputs.length);
      expect(model.matched(phase)).toBe(outputs.length);
    }
  });

  it("steps from phase to phase", () => {
    expect(model.next(2, "event")).toBe(log.times_s[1]);
    expect(model.previous(2.1, "event")).toBe(log.times_s[399]);
    expect(model.previous(2, "event")).toBeUndefined();
    expect(model.next(2, "drop")).toBeUndefined();
  });

  it("keeps the level between two phases in its course", () => {
    const slow = new CrossbarModel(crossbarLog(4, 3, 1, 9));
    const { levels } = slow.course(0, 2, 20);
    expect(levels[5]).toBe(slow.backlog(0));
    expect(levels[15]).toBe(slow.backlog(1));
  });
});

describe("PauseModel", () => {
  const logs = [pauseLog("a -> b", [0, 3], 1, 0.01, 4), pauseLog("b -> c", [3], 1, 0.02, 5)];
  const model = new PauseModel(logs);

  it("has a row for each link and class", () => {
    expect(model.rows.map(row => `${row.link} ${row.class}`)).toEqual(["a -> b 0", "a -> b 3", "b -> c 3"]);
  });

  it("equals a replay", () => {
    const draw = uniform(1);
    for (let sample = 0; sample < 300; sample += 1) {
      const time_s = draw();
      for (const row of model.rows) {
        const log = logs.find(({ link }) => link === row.link);
        let stopped = 0;
        log?.times_s.forEach((at_s, event) => {
          if (at_s <= time_s && log.classes[event] === row.class) stopped = log.stopped[event] as number;
        });
        expect(model.isStopped(row, time_s)).toBe(stopped === 1);
        const since_s = model.stoppedSince_s(row, time_s);
        expect(since_s !== undefined && since_s <= time_s).toBe(stopped === 1);
      }
    }
  });

  it("sums the stopped time of any part", () => {
    const draw = uniform(2);
    for (let sample = 0; sample < 30; sample += 1) {
      const from_s = draw() * 0.5;
      const to_s = from_s + draw() * 0.5;
      for (const row of model.rows) {
        let sum = 0;
        const steps = 20_000;
        for (let step = 0; step < steps; step += 1)
          if (model.isStopped(row, from_s + ((step + 0.5) / steps) * (to_s - from_s))) sum += (to_s - from_s) / steps;
        expect(model.stopped_s(row, from_s, to_s)).toBeCloseTo(sum, 2);
      }
    }
  });

  it("merges a repeated PAUSE and ignores a release of a link that is not stopped", () => {
    const repeated = new PauseModel([
      {
        link: "a",
        times_s: Float64Array.of(1, 2, 3, 4, 5, 6),
        classes: new Uint8Array(6),
        stopped: Uint8Array.of(0, 1, 1, 0, 0, 1),
        is_cut: false,
      },
    ]);
    expect(Array.from(repeated.rows[0]?.edges_s ?? [])).toEqual([2, 4, 6]);
    expect(repeated.next(2, "event")).toBe(4);
    expect(repeated.previous(6, "event")).toBe(4);
    expect(Array.from(repeated.course(0, 8, 8).levels)).toEqual([0, 0, 1, 1, 1, 0, 1, 1]);
  });
});

describe("formats", () => {
  it("writes times with the digits that a reader needs", () => {
    expect(formatTime(0.0124, 0.5, 1e-4)).toBe("12.4 ms");
    expect(formatTime(3.24148, 5, 1e-4)).toBe("3.2415 s");
    expect(formatTime(2.5e-6, 8e-6, 1e-9)).toBe("2.500 µs");
    expect(formatSpan(0.0012)).toBe("1.2 ms");
    expect(formatSpan(1)).toBe("1 s");
    expect(formatSpan(1e-6)).toBe("1 µs");
    expect(formatSpan(0.9999)).toBe("1 s");
    expect(formatSpan(200)).toBe("200 s");
  });

  it("writes rates, bytes and counts", () => {
    expect(formatRate(10e6)).toBe("10 Mbps");
    expect(formatRate(2.5e9)).toBe("2.5 Gbps");
    expect(formatBytes(1500)).toBe("1500 B");
    expect(formatBytes(25_500)).toBe("25.5 kB");
    expect(formatBytes(7_500_000)).toBe("7.5 MB");
    expect(formatCount(9999)).toBe("9999");
    expect(formatCount(1234567)).toBe("1\u202f234\u202f567");
    expect(formatSlowness(1e6)).toBe("1 : 1\u202f000\u202f000");
  });
});
