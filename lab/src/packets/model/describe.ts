import { countsText } from "./flows";
import { formatBytes, plural } from "./format";
import { DEPARTED, DROPPED_LATER, DROPPED_ON_ARRIVAL, ENQUEUED, type PacketModel } from "./packets";

const NAMES: Record<number, string> = {
  [ENQUEUED]: "joins the queue",
  [DROPPED_ON_ARRIVAL]: "dropped on arrival",
  [DROPPED_LATER]: "dropped from the queue",
  [DEPARTED]: "starts onto the link",
};

/** The name of a kind of event. */
export function eventName(kind: number): string {
  return NAMES[kind] ?? "marked";
}

/** An event as a sentence without its time, such as `packet 17 of tcp-1 (1500 B) joins the queue`. */
export function eventText(model: PacketModel, event: number): string {
  const { log } = model;
  const flow = log.flow_names[log.flows[event] as number] ?? "an unknown flow";
  const text = eventName(log.events[event] as number);
  const verb = text.startsWith("dropped") || text === "marked" ? `is ${text}` : text;
  return `packet ${log.packets[event]} of ${flow} (${formatBytes(log.bytes[event] as number)}) ${verb}`;
}

/** The packets of each flow in the queue after the first `events` events. */
export function queuedByFlow(model: PacketModel, events: number): { counts: Map<string, number>; bytes: number } {
  const queued = new Uint32Array(model.lengthAfter(events));
  model.queuedAfter(events, queued);
  const counts = new Map<string, number>();
  let bytes = 0;
  for (const packet of queued) {
    const name = model.log.flow_names[model.flowOf(packet)] ?? "unknown";
    counts.set(name, (counts.get(name) ?? 0) + 1);
    bytes += model.bytesOf(packet);
  }
  return { counts, bytes };
}

/** The state of a queue in one sentence, without the time. */
export function stateText(model: PacketModel, time_s: number, groups: readonly string[] = []): string {
  const events = model.eventsUpTo(time_s);
  if (model.eventCount === 0) return "no packet was recorded";
  if (model.log.is_cut && time_s > model.last_s) return "the log was full before this time";
  const { counts, bytes } = queuedByFlow(model, events);
  const length = model.lengthAfter(events);
  const drops = model.countUpTo(model.drops, events);
  const marks = model.countUpTo(model.marks, events);
  const sent = model.transmissionAt(time_s);
  const parts = [
    length > 0
      ? `${plural(length, "packet")} queued (${formatBytes(bytes)}): ${countsText(counts, groups)}`
      : "the queue is empty",
    sent
      ? `on the link: ${model.log.flow_names[model.flowOf(sent.packet)] ?? "unknown"}`
      : length > 0
        ? "the link waits"
        : "the link is idle",
  ];
  if (drops > 0) parts.push(`${plural(drops, "packet")} dropped`);
  if (marks > 0) parts.push(`${plural(marks, "packet")} marked`);
  return parts.join("; ");
}

/** The last event up to a time; several at the same time are counted. */
export function lastEventText(model: PacketModel, time_s: number): string | undefined {
  const events = model.eventsUpTo(time_s);
  if (events === 0) return undefined;
  const last_s = model.log.times_s[events - 1] as number;
  let first = events - 1;
  while (first > 0 && model.log.times_s[first - 1] === last_s) first -= 1;
  const others = events - 1 - first;
  const text = eventText(model, events - 1);
  return others > 0 ? `${text}, after ${plural(others, "other event")} at the same time` : text;
}
