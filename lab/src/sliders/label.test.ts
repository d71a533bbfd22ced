import { expect, it } from "vitest";
import { labelOf } from "./label";

it.each([
  ["duration", "Duration"],
  ["flows.flood.transport.udp.constant.rate", "flood: rate"],
  ["flows.tcp.count", "tcp: count"],
  ["topology.star.bottleneck.rate", "Bottleneck rate"],
  ["topology.star.bottleneck.queue.drop_tail.limit", "Drop tail limit"],
  ["topology.star.bottleneck.queue.red.max_probability", "Max probability"],
  ["topology.dumbbell.sources", "Sources"],
  ["probes.interval", "Interval"],
  ["flows.a.start.uniform.1", "a: 1"],
])("%s is labelled %s", (path, label) => {
  expect(labelOf(path)).toBe(label);
});
