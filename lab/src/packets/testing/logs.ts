// Logs for tests and for work on the views: small models of queues, not of Forebay's disciplines.

import type { CrossbarLog, PacketLog, PauseLog } from "../../engine/protocol";
import { DEPARTED, DROPPED_LATER, DROPPED_ON_ARRIVAL, ENQUEUED, MARKED } from "../model/packets";

/** Uniform numbers from 0 to 1 that depend on the seed only. */
export function uniform(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    let mixed = state ^ (state >>> 15);
    mixed = Math.imul(mixed, 0x2c1b3c6d);
    mixed ^= mixed >>> 12;
    return (mixed >>> 0) / 2 ** 32;
  };
}

export interface Flow {
  name: string;
  rate_bps: number;
  bytes: number;
  /** Packets that arrive together. */
  burst: number;
}

export interface QueueOptions {
  discipline: "drop_tail" | "fair";
  rate_bps: number;
  /** Packets that the queue may hold. */
  limit: number;
  /** Packets in the queue from which an arriving packet is marked. */
  mark_at?: number;
  duration_s: number;
  start_s?: number;
  flows: Flow[];
  seed: number;
  /** The largest number of events. */
  most?: number;
}

interface Packet {
  number: number;
  flow: number;
  bytes: number;
}

/** `drop_tail` drops on arrival. `fair` serves flows in turn and, if it is full, drops from the longest flow. */
export function packetLog(options: QueueOptions): PacketLog {
  const { discipline, rate_bps, limit, flows, duration_s } = options;
  const start_s = options.start_s ?? 0;
  const most = options.most ?? Number.POSITIVE_INFINITY;
  const draw = uniform(options.seed);
  const times: number[] = [];
  const events: number[] = [];
  const flowOf: number[] = [];
  const sizes: number[] = [];
  const numbers: number[] = [];
  const lanes: Packet[][] = flows.map(() => []);
  const fifo: Packet[] = [];
  let head = 0;
  let turn = 0;
  let length = 0;
  let free_s = 0;
  let isFull = false;

  const record = (time_s: number, event: number, packet: Packet) => {
    if (times.length >= most) {
      isFull = true;
      return;
    }
    times.push(start_s + time_s);
    events.push(event);
    flowOf.push(packet.flow);
    sizes.push(packet.bytes);
    numbers.push(packet.number);
  };
  const take = (): Packet | undefined => {
    if (length === 0) return undefined;
    length -= 1;
    if (discipline === "drop_tail") {
      const packet = fifo[head] as Packet;
      head += 1;
      return packet;
    }
    do turn = (turn + 1) % lanes.length;
    while ((lanes[turn] as Packet[]).length === 0);
    return (lanes[turn] as Packet[]).shift();
  };
  const serveUntil = (time_s: number) => {
    while (length > 0 && free_s <= time_s) {
      const packet = take() as Packet;
      record(free_s, DEPARTED, packet);
      free_s += (packet.bytes * 8) / rate_bps;
    }
  };
  const arrive = (time_s: number, packet: Packet) => {
    if (discipline === "drop_tail" && length >= limit) {
      record(time_s, DROPPED_ON_ARRIVAL, packet);
      return;
    }
    if (options.mark_at !== undefined && length >= options.mark_at) record(time_s, MARKED, packet);
    record(time_s, ENQUEUED, packet);
    length += 1;
    if (discipline === "drop_tail") fifo.push(packet);
    else {
      (lanes[packet.flow] as Packet[]).push(packet);
      if (length > limit) {
        const longest = lanes.reduce((best, lane) => (lane.length > best.length ? lane : best));
        record(time_s, DROPPED_LATER, longest.shift() as Packet);
        length -= 1;
      }
    }
    if (free_s <= time_s) {
      free_s = time_s;
      serveUntil(time_s);
    }
  };

  const due = flows.map(flow => draw() * ((flow.bytes * 8 * flow.burst) / flow.rate_bps));
  let number = 0;
  while (!isFull) {
    let next = 0;
    for (let flow = 1; flow < due.length; flow += 1) if ((due[flow] as number) < (due[next] as number)) next = flow;
    const time_s = due[next] as number;
    if (time_s > duration_s) break;
    serveUntil(time_s);
    const { bytes, burst, rate_bps: sent } = flows[next] as Flow;
    for (let packet = 0; packet < burst; packet += 1) {
      arrive(time_s, { number, flow: next, bytes });
      number += 1;
    }
    due[next] = time_s + -Math.log(1 - draw()) * ((bytes * 8 * burst) / sent);
  }
  if (!isFull) serveUntil(duration_s);
  return {
    link: "left -> right",
    rate_bps,
    times_s: Float64Array.from(times),
    events: Uint8Array.from(events),
    flows: Uint32Array.from(flowOf),
    bytes: Uint32Array.from(sizes),
    packets: Uint32Array.from(numbers),
    flow_names: flows.map(flow => flow.name),
    is_cut: isFull,
  };
}

/** Random phases: a maximal matching of VOQs that are not empty, each phase from a random input. */
export function crossbarLog(ports: number, phases: number, phase_s: number, seed: number, start_s = 0): CrossbarLog {
  const draw = uniform(seed);
  const held = new Uint16Array(ports * ports);
  const log: CrossbarLog = {
    node: "switch",
    inputs: ports,
    outputs: ports,
    times_s: new Float64Array(phases),
    matchings: new Int16Array(phases * ports).fill(-1),
    lengths: new Uint16Array(phases * ports * ports),
    is_cut: false,
  };
  for (let phase = 0; phase < phases; phase += 1) {
    log.times_s[phase] = start_s + phase * phase_s;
    for (let input = 0; input < ports; input += 1) {
      if (draw() > 0.9) continue;
      // Output 0 is twice as busy as the others.
      const output = Math.max(Math.floor(draw() * (ports + 1)) - 1, 0);
      const place = input * ports + output;
      held[place] = Math.min((held[place] as number) + 1, 65535);
    }
    log.lengths.set(held, phase * ports * ports);
    const isTaken = new Uint8Array(ports);
    const first = Math.floor(draw() * ports);
    for (let step = 0; step < ports; step += 1) {
      const input = (first + step) % ports;
      const offset = Math.floor(draw() * ports);
      for (let probe = 0; probe < ports; probe += 1) {
        const output = (offset + probe) % ports;
        const place = input * ports + output;
        if (isTaken[output] || held[place] === 0) continue;
        isTaken[output] = 1;
        log.matchings[phase * ports + input] = output;
        held[place] = (held[place] as number) - 1;
        break;
      }
    }
  }
  return log;
}

/** Links that PAUSE stops now and then. */
export function pauseLog(link: string, classes: number[], duration_s: number, mean_s: number, seed: number): PauseLog {
  const draw = uniform(seed);
  const events: [time_s: number, traffic: number, stopped: number][] = [];
  for (const traffic of classes) {
    let time_s = 0;
    let stopped = 1;
    for (;;) {
      time_s += -Math.log(1 - draw()) * mean_s * (stopped === 1 ? 3 : 1);
      if (time_s > duration_s) break;
      events.push([time_s, traffic, stopped]);
      stopped = 1 - stopped;
    }
  }
  events.sort(([a], [b]) => a - b);
  return {
    link,
    times_s: Float64Array.from(events, ([time_s]) => time_s),
    classes: Uint8Array.from(events, ([, traffic]) => traffic),
    stopped: Uint8Array.from(events, ([, , stopped]) => stopped),
    is_cut: false,
  };
}
