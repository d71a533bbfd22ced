import { describe, expect, it } from "vitest";
import type { PacketLog } from "../../engine/protocol";
import { packetLog, uniform } from "../testing/logs";
import { DEPARTED, DROPPED_LATER, DROPPED_ON_ARRIVAL, ENQUEUED, MARKED, PacketModel } from "./packets";

/** The state after the first events of a log, by definition. */
function replay(log: PacketLog, events: number) {
  const queued: number[] = [];
  const marked = new Set<number>();
  let drops = 0;
  for (let event = 0; event < events; event += 1) {
    const packet = log.packets[event] as number;
    switch (log.events[event]) {
      case ENQUEUED:
        queued.push(packet);
        break;
      case DROPPED_ON_ARRIVAL:
        drops += 1;
        break;
      case MARKED:
        marked.add(packet);
        break;
      default:
        if (log.events[event] === DROPPED_LATER) drops += 1;
        if (queued.includes(packet)) queued.splice(queued.indexOf(packet), 1);
    }
  }
  return { queued, marked, drops };
}

function expectSameState(model: PacketModel, events: number): void {
  const expected = replay(model.log, events);
  const buffer = new Uint32Array(model.packetCount);
  const count = model.queuedAfter(events, buffer);
  const queued = Array.from(buffer.subarray(0, count));
  expect(queued.map(packet => model.nameOf(packet))).toEqual(expected.queued);
  expect(model.lengthAfter(events)).toBe(expected.queued.length);
  expect(model.countUpTo(model.drops, events)).toBe(expected.drops);
  for (const packet of queued)
    expect(model.isMarkedAfter(packet, events)).toBe(expected.marked.has(model.nameOf(packet)));
}

const FLOWS = [
  { name: "web", rate_bps: 6e6, bytes: 1500, burst: 3 },
  { name: "voice", rate_bps: 1e6, bytes: 200, burst: 1 },
  { name: "flood", rate_bps: 8e6, bytes: 1000, burst: 1 },
];

describe("PacketModel", () => {
  for (const discipline of ["drop_tail", "fair"] as const)
    for (const limit of [1, 7, 3000])
      it(`equals a replay: ${discipline} with a limit of ${limit} packets`, () => {
        const log = packetLog({
          discipline,
          rate_bps: 5e6,
          limit,
          mark_at: limit / 2,
          duration_s: 4,
          start_s: 1,
          flows: FLOWS,
          seed: limit,
        });
        const model = new PacketModel(log);
        expect(model.eventCount).toBeGreaterThan(5000);
        expect(model.peakPackets).toBeLessThanOrEqual(limit + (discipline === "fair" ? 1 : 0));
        const draw = uniform(7);
        for (let sample = 0; sample < 25; sample += 1)
          expectSameState(model, Math.floor(draw() * (model.eventCount + 1)));
        expectSameState(model, 0);
        expectSameState(model, model.eventCount);
      });

  it("equals a replay of arbitrary events, with any numbers of packets", () => {
    const draw = uniform(3);
    for (let round = 0; round < 30; round += 1) {
      const count = 2000;
      const held: number[] = [];
      const events = new Uint8Array(count);
      const packets = new Uint32Array(count);
      for (let event = 0; event < count; event += 1) {
        const kind = Math.floor(draw() * (round % 3 === 0 ? 3 : 5));
        const fresh = round % 2 === 0 ? event : (event * 2654435761) >>> 0;
        const place = Math.floor(draw() * held.length);
        const isOld = held.length > 0 && kind !== ENQUEUED && kind !== DROPPED_ON_ARRIVAL;
        packets[event] = isOld ? (held[place] as number) : fresh;
        events[event] = isOld ? kind : kind === DROPPED_ON_ARRIVAL ? kind : ENQUEUED;
        if (events[event] === ENQUEUED) held.push(fresh);
        else if (kind === DEPARTED || kind === DROPPED_LATER) held.splice(place, 1);
      }
      const model = new PacketModel({
        link: "",
        rate_bps: 1e6,
        times_s: Float64Array.from({ length: count }, (_, event) => Math.floor(event / 3)),
        events,
        flows: new Uint32Array(count),
        bytes: new Uint32Array(count).fill(100),
        packets,
        flow_names: ["a"],
        is_cut: false,
      });
      for (let sample = 0; sample < 20; sample += 1) expectSameState(model, Math.floor(draw() * (count + 1)));
    }
  });

  const log = packetLog({ discipline: "drop_tail", rate_bps: 5e6, limit: 20, duration_s: 1, flows: FLOWS, seed: 1 });
  const model = new PacketModel(log);

  it("finds the packet in transmission and the part that is on the link", () => {
    const draw = uniform(5);
    for (let sample = 0; sample < 500; sample += 1) {
      const time_s = draw() * model.last_s;
      const found = model.transmissionAt(time_s);
      let expected: { packet: number; part: number } | undefined;
      for (let event = 0; event < model.eventCount; event += 1) {
        const began_s = log.times_s[event] as number;
        const part = (time_s - began_s) / (((log.bytes[event] as number) * 8) / log.rate_bps);
        if (log.events[event] === DEPARTED && part >= 0 && part < 1)
          expected = { packet: log.packets[event] as number, part };
      }
      expect(found && model.nameOf(found.packet)).toBe(expected?.packet);
      if (found && expected) expect(found.part).toBeCloseTo(expected.part, 9);
    }
  });

  it("steps over all events, and over drops, in both directions", () => {
    const forward: number[] = [];
    for (let time_s = model.next(-1, "event"); time_s !== undefined; time_s = model.next(time_s, "event"))
      forward.push(time_s);
    expect(forward).toEqual([...new Set(log.times_s)]);
    const backward: number[] = [];
    for (let time_s = model.previous(99, "drop"); time_s !== undefined; time_s = model.previous(time_s, "drop"))
      backward.push(time_s);
    const drops = log.times_s.filter((_, event) => log.events[event] === DROPPED_ON_ARRIVAL);
    expect(backward.reverse()).toEqual([...new Set(drops)]);
    expect(backward.length).toBeGreaterThan(10);
    expect(model.next(99, "event")).toBeUndefined();
    expect(model.next(0, "mark")).toBeUndefined();
  });

  it("keeps the peaks and drops of each flow", () => {
    let sum = 0;
    FLOWS.forEach((_, flow) => {
      let held = 0;
      let peak = 0;
      let drops = 0;
      for (let event = 0; event < model.eventCount; event += 1) {
        if (log.flows[event] !== flow) continue;
        if (log.events[event] === ENQUEUED) held += 1;
        else if (log.events[event] === DEPARTED) held -= 1;
        else drops += 1;
        peak = Math.max(peak, held);
      }
      expect(model.flowPeakPackets[flow]).toBe(peak);
      expect(model.flowDropsAfter(flow, model.eventCount)).toBe(drops);
      sum += drops;
    });
    expect(sum).toBe(model.drops.length);
  });

  it("draws the course with each bucket's peak, drops and marks", () => {
    const buckets = 50;
    const course = model.course(0.2, 0.7, buckets);
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const from_s = 0.2 + bucket * 0.01;
      const first = log.times_s.findIndex(time_s => time_s >= from_s);
      let peak = model.lengthAfter(first);
      let drops = 0;
      for (let event = first; (log.times_s[event] as number) < from_s + 0.01; event += 1) {
        peak = Math.max(peak, model.lengths[event] as number);
        if (log.events[event] === DROPPED_ON_ARRIVAL) drops += 1;
      }
      expect(course.levels[bucket]).toBe(peak);
      expect(course.drops[bucket]).toBe(drops);
    }
    expect(course.peak).toBe(model.peakPackets);
  });

  it("takes an empty log", () => {
    const empty = new PacketModel({
      link: "",
      rate_bps: 1e6,
      times_s: new Float64Array(0),
      events: new Uint8Array(0),
      flows: new Uint32Array(0),
      bytes: new Uint32Array(0),
      packets: new Uint32Array(0),
      flow_names: [],
      is_cut: false,
    });
    expect(empty.queuedAfter(0, new Uint32Array(0))).toBe(0);
    expect(empty.transmissionAt(1)).toBeUndefined();
    expect(empty.next(0, "event")).toBeUndefined();
    expect(empty.course(0, 1, 10).levels).toEqual(new Float32Array(10));
  });

  it("seeks fast in a log of 2 million events with 20 000 packets in the queue", () => {
    const large = packetLog({
      discipline: "drop_tail",
      rate_bps: 1e9,
      limit: 20_000,
      duration_s: 1000,
      flows: [{ name: "a", rate_bps: 1.3e9, bytes: 1500, burst: 1 }],
      seed: 1,
      most: 2_000_000,
    });
    const began_ms = performance.now();
    const seeking = new PacketModel(large);
    const built_ms = performance.now() - began_ms;
    const buffer = new Uint32Array(seeking.packetCount);
    const draw = uniform(2);
    const times: number[] = [];
    for (let sample = 0; sample < 200; sample += 1) {
      const start_ms = performance.now();
      seeking.queuedAfter(seeking.eventsUpTo(draw() * seeking.last_s), buffer);
      times.push(performance.now() - start_ms);
    }
    times.sort((a, b) => a - b);
    console.info(`2 million events: index ${built_ms.toFixed(0)} ms, median seek ${times[100]?.toFixed(3)} ms`);
    expect(seeking.peakPackets).toBe(20_000);
    expect(times[100]).toBeLessThan(8);
  });
});
