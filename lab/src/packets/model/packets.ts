import type { PacketLog } from "../../engine/protocol";
import { countBelow, countUpTo } from "./search";
import { type Course, emptyCourse, type Moment, type Timeline } from "./timeline";

// Indices into `PACKET_EVENTS`.
export const ENQUEUED = 0;
export const DROPPED_ON_ARRIVAL = 1;
export const DROPPED_LATER = 2;
export const DEPARTED = 3;
export const MARKED = 4;

const NEVER = 0xffffffff;
/** The least number of events between two checkpoints. */
const STRIDE = 1024;

/**
 * The state of a queue at any time, from its log.
 *
 * A checkpoint stores the packets queued before an event. It comes after at least as many events as it stores packets,
 * so all checkpoints together take no more memory than the log. A state is the next lower checkpoint plus the packets
 * enqueued since, less those that have left; no state is derived from another one, so seeking costs the same in
 * either direction.
 *
 * Packets have indices here: 0, 1, … in the order in which they arrive.
 */
export class PacketModel implements Timeline {
  readonly label: string;
  readonly log: PacketLog;
  readonly first_s: number;
  readonly last_s: number;
  readonly eventCount: number;
  readonly packetCount: number;
  /** The packet of each event. */
  readonly packetOf: Uint32Array;
  /** Packets in the queue after each event. */
  readonly lengths: Uint32Array;
  readonly departures: Uint32Array;
  readonly arrivalDrops: Uint32Array;
  readonly laterDrops: Uint32Array;
  readonly drops: Uint32Array;
  /** Packets that join the queue or are dropped on arrival. */
  readonly arrivals: Uint32Array;
  readonly marks: Uint32Array;
  /** The rate of the link; its mean rate where the log has none. */
  readonly rate_bps: number;
  readonly peakPackets: number;
  readonly peakBytes: number;
  readonly largestPacket: number;
  /** The largest number of packets and of bytes that each flow had in the queue, and its packets in the log. */
  readonly flowPeakPackets: Uint32Array;
  readonly flowPeakBytes: Float64Array;
  readonly flowPackets: Uint32Array;

  private readonly firstEvents: Uint32Array;
  private readonly enqueuedAt: Uint32Array;
  private readonly endedAt: Uint32Array;
  private readonly markedAt: Uint32Array;
  private readonly checkpointEvents: number[] = [];
  private readonly checkpointStarts: number[] = [];
  private readonly checkpointPackets: Uint32Array;
  private readonly flowDrops = new Map<number, Uint32Array>();

  constructor(log: PacketLog, label = log.link) {
    this.label = label;
    this.log = log;
    const count = log.times_s.length;
    this.eventCount = count;
    this.first_s = count > 0 ? (log.times_s[0] as number) : 0;
    this.last_s = count > 0 ? (log.times_s[count - 1] as number) : 0;
    const { packetOf, packetCount } = number(log);
    this.packetOf = packetOf;
    this.packetCount = packetCount;

    this.firstEvents = new Uint32Array(packetCount).fill(NEVER);
    this.enqueuedAt = new Uint32Array(packetCount).fill(NEVER);
    this.endedAt = new Uint32Array(packetCount).fill(NEVER);
    this.markedAt = new Uint32Array(packetCount).fill(NEVER);
    const kinds = new Uint32Array(5);
    for (let event = 0; event < count; event += 1) {
      const packet = packetOf[event] as number;
      if (this.firstEvents[packet] === NEVER) this.firstEvents[packet] = event;
      const kind = log.events[event] as number;
      kinds[kind] = (kinds[kind] as number) + 1;
      if (kind === ENQUEUED) this.enqueuedAt[packet] = event;
      else if (kind === MARKED) this.markedAt[packet] = Math.min(event, this.markedAt[packet] as number);
      else if (this.endedAt[packet] === NEVER) this.endedAt[packet] = event;
    }

    const places = [0, 0, 0, 0, 0];
    const lists = Array.from(kinds, length => new Uint32Array(length));
    const flows = log.flow_names.length;
    this.flowPackets = new Uint32Array(flows);
    this.flowPeakPackets = new Uint32Array(flows);
    this.flowPeakBytes = new Float64Array(flows);
    const flowLengths = new Uint32Array(flows);
    const flowBytes = new Float64Array(flows);
    this.lengths = new Uint32Array(count);
    const checkpoints = new Uint32Array(count);
    let checkpointEnd = 0;
    let length = 0;
    let bytes = 0;
    let peakPackets = 0;
    let peakBytes = 0;
    let largest = 0;
    let since = 0;
    for (let event = 0; event < count; event += 1) {
      if (event === 0 || since >= Math.max(STRIDE, length)) {
        const start = checkpointEnd;
        checkpointEnd = this.collect(event, checkpoints, start, checkpoints);
        this.checkpointEvents.push(event);
        this.checkpointStarts.push(start);
        since = 0;
      }
      since += 1;
      const kind = log.events[event] as number;
      const packet = packetOf[event] as number;
      const flow = log.flows[event] as number;
      const size = log.bytes[event] as number;
      (lists[kind] as Uint32Array)[places[kind] as number] = event;
      places[kind] = (places[kind] as number) + 1;
      if (this.firstEvents[packet] === event) this.flowPackets[flow] = (this.flowPackets[flow] as number) + 1;
      if (size > largest) largest = size;
      if (kind === ENQUEUED) {
        length += 1;
        bytes += size;
        const held = (flowLengths[flow] as number) + 1;
        const heldBytes = (flowBytes[flow] as number) + size;
        flowLengths[flow] = held;
        flowBytes[flow] = heldBytes;
        if (held > (this.flowPeakPackets[flow] as number)) this.flowPeakPackets[flow] = held;
        if (heldBytes > (this.flowPeakBytes[flow] as number)) this.flowPeakBytes[flow] = heldBytes;
        if (length > peakPackets) peakPackets = length;
        if (bytes > peakBytes) peakBytes = bytes;
      } else if (this.endedAt[packet] === event && (this.enqueuedAt[packet] as number) < event) {
        length -= 1;
        bytes -= size;
        flowLengths[flow] = (flowLengths[flow] as number) - 1;
        flowBytes[flow] = (flowBytes[flow] as number) - size;
      }
      this.lengths[event] = length;
    }
    this.checkpointPackets = checkpoints.slice(0, checkpointEnd);
    this.checkpointStarts.push(checkpointEnd);
    this.arrivalDrops = lists[DROPPED_ON_ARRIVAL] as Uint32Array;
    this.laterDrops = lists[DROPPED_LATER] as Uint32Array;
    this.departures = lists[DEPARTED] as Uint32Array;
    this.marks = lists[MARKED] as Uint32Array;
    this.arrivals = merge(lists[ENQUEUED] as Uint32Array, this.arrivalDrops);
    this.drops = merge(this.arrivalDrops, this.laterDrops);
    this.rate_bps = log.rate_bps > 0 && Number.isFinite(log.rate_bps) ? log.rate_bps : this.meanRate_bps();
    this.peakPackets = peakPackets;
    this.peakBytes = peakBytes;
    this.largestPacket = largest;
  }

  private meanRate_bps(): number {
    const bytes = this.departures.reduce((sum, event) => sum + (this.log.bytes[event] as number), 0);
    return (bytes * 8) / (this.last_s - this.first_s) || 1;
  }

  /** The number of events up to and including a time. */
  eventsUpTo(time_s: number): number {
    return countUpTo(this.log.times_s, time_s);
  }

  /** Writes the packets that are queued after the first `events` events, in the order of arrival; returns their number. */
  queuedAfter(events: number, into: Uint32Array): number {
    return this.collect(events, into, 0, this.checkpointPackets);
  }

  private collect(events: number, into: Uint32Array, at: number, stored: Uint32Array): number {
    const checkpoint = countUpTo(this.checkpointEvents, events) - 1;
    let event = 0;
    let end = at;
    if (checkpoint >= 0) {
      event = this.checkpointEvents[checkpoint] as number;
      const stop = this.checkpointStarts[checkpoint + 1] ?? at;
      for (let place = this.checkpointStarts[checkpoint] as number; place < stop; place += 1) {
        const packet = stored[place] as number;
        if ((this.endedAt[packet] as number) >= events) {
          into[end] = packet;
          end += 1;
        }
      }
    }
    for (; event < events; event += 1) {
      if (this.log.events[event] !== ENQUEUED) continue;
      const packet = this.packetOf[event] as number;
      if ((this.endedAt[packet] as number) >= events) {
        into[end] = packet;
        end += 1;
      }
    }
    return end;
  }

  lengthAfter(events: number): number {
    return events > 0 ? (this.lengths[events - 1] as number) : 0;
  }

  flowOf(packet: number): number {
    return this.log.flows[this.firstEvents[packet] as number] as number;
  }

  bytesOf(packet: number): number {
    return this.log.bytes[this.firstEvents[packet] as number] as number;
  }

  /** The number of the packet in the log. */
  nameOf(packet: number): number {
    return this.log.packets[this.firstEvents[packet] as number] as number;
  }

  isMarkedAfter(packet: number, events: number): boolean {
    return (this.markedAt[packet] as number) < events;
  }

  /** When the packet entered the queue. */
  enqueuedAt_s(packet: number): number | undefined {
    const event = this.enqueuedAt[packet] as number;
    return event === NEVER ? undefined : this.log.times_s[event];
  }

  transmission_s(bytes: number): number {
    return (bytes * 8) / this.rate_bps;
  }

  /** The packet that is on its way onto the link at a time, and the part of it that is already there. */
  transmissionAt(time_s: number): { packet: number; event: number; part: number } | undefined {
    const departed = this.countUpTo(this.departures, this.eventsUpTo(time_s));
    if (departed === 0) return undefined;
    const event = this.departures[departed - 1] as number;
    const packet = this.packetOf[event] as number;
    const part = (time_s - (this.log.times_s[event] as number)) / this.transmission_s(this.bytesOf(packet));
    return part < 1 ? { packet, event, part } : undefined;
  }

  /** The number of a list of events that belong to the first `events` events. */
  countUpTo(list: Uint32Array, events: number): number {
    return countBelow(list, events);
  }

  /** Drops of one flow in the first `events` events. */
  flowDropsAfter(flow: number, events: number): number {
    if (this.flowDrops.size === 0 && this.drops.length > 0) {
      const lists = new Map<number, number[]>();
      for (const event of this.drops) {
        const of = this.log.flows[event] as number;
        const list = lists.get(of);
        if (list) list.push(event);
        else lists.set(of, [event]);
      }
      for (const [of, list] of lists) this.flowDrops.set(of, Uint32Array.from(list));
    }
    const list = this.flowDrops.get(flow);
    return list ? countBelow(list, events) : 0;
  }

  next(time_s: number, moment: Moment): number | undefined {
    const events = this.eventsUpTo(time_s);
    if (moment === "event") return this.log.times_s[events];
    const list = this.listOf(moment);
    const event = list[countBelow(list, events)];
    return event === undefined ? undefined : this.log.times_s[event];
  }

  previous(time_s: number, moment: Moment): number | undefined {
    const events = countBelow(this.log.times_s, time_s);
    if (moment === "event") return events > 0 ? this.log.times_s[events - 1] : undefined;
    const list = this.listOf(moment);
    const place = countBelow(list, events) - 1;
    return place >= 0 ? this.log.times_s[list[place] as number] : undefined;
  }

  private listOf(moment: "drop" | "mark"): Uint32Array {
    return moment === "drop" ? this.drops : this.marks;
  }

  course(from_s: number, to_s: number, buckets: number): Course {
    const course = emptyCourse(buckets, "packets");
    course.peak = this.peakPackets;
    const scale = buckets / Math.max(to_s - from_s, Number.MIN_VALUE);
    const first = countBelow(this.log.times_s, from_s);
    const last = this.eventsUpTo(to_s);
    let level = this.lengthAfter(first);
    let reached = 0;
    for (let event = first; event < last; event += 1) {
      const bucket = Math.min(Math.floor(((this.log.times_s[event] as number) - from_s) * scale), buckets - 1);
      for (; reached < bucket; reached += 1) raise(course.levels, reached + 1, level);
      raise(course.levels, bucket, level);
      level = this.lengths[event] as number;
      raise(course.levels, bucket, level);
      const kind = this.log.events[event] as number;
      if (kind === MARKED) course.marks[bucket] = (course.marks[bucket] as number) + 1;
      else if (kind === DROPPED_ON_ARRIVAL || kind === DROPPED_LATER)
        course.drops[bucket] = (course.drops[bucket] as number) + 1;
    }
    // A log that was cut has no state after its last event.
    const end_s = this.log.is_cut ? Math.min(this.last_s, to_s) : to_s;
    const end = Math.min(Math.floor((end_s - from_s) * scale), buckets - 1);
    for (; reached < end; reached += 1) raise(course.levels, reached + 1, level);
    return course;
  }
}

function raise(levels: Float32Array, bucket: number, level: number): void {
  if (level > (levels[bucket] as number)) levels[bucket] = level;
}

/**
 * Numbers packets 0, 1, … in the order of their first events. Marks do not count: a packet may be marked before it joins
 * the queue, and packets in the queue have ascending numbers.
 */
function number(log: PacketLog): { packetOf: Uint32Array; packetCount: number } {
  const { packets, events } = log;
  const packetOf = new Uint32Array(packets.length);
  const indexOf = numbering(packets);
  for (const isMark of [false, true])
    for (let event = 0; event < packets.length; event += 1)
      if ((events[event] === MARKED) === isMark) packetOf[event] = indexOf.take(packets[event] as number);
  return { packetOf, packetCount: indexOf.count() };
}

/** Gives each new name the next number; names that are mostly small take an array rather than a map. */
function numbering(names: Uint32Array): { take: (name: number) => number; count: () => number } {
  let most = 0;
  for (const name of names) if (name > most) most = name;
  let count = 0;
  if (most < names.length * 4 + 1024) {
    const numbers = new Uint32Array(most + 1).fill(NEVER);
    const take = (name: number) => {
      if (numbers[name] === NEVER) {
        numbers[name] = count;
        count += 1;
      }
      return numbers[name] as number;
    };
    return { take, count: () => count };
  }
  const numbers = new Map<number, number>();
  const take = (name: number) => {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    numbers.set(name, count);
    count += 1;
    return count - 1;
  };
  return { take, count: () => count };
}

function merge(a: Uint32Array, b: Uint32Array): Uint32Array {
  const merged = new Uint32Array(a.length + b.length);
  let left = 0;
  let right = 0;
  for (let place = 0; place < merged.length; place += 1) {
    const from = a[left] ?? NEVER;
    const other = b[right] ?? NEVER;
    if (from < other) {
      merged[place] = from;
      left += 1;
    } else {
      merged[place] = other;
      right += 1;
    }
  }
  return merged;
}
