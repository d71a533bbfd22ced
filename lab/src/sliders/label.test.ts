import { expect, it } from "vitest";
import { labelOf } from "./label";

it.each([
  ["duration", "duration"],
  ["flows.flood.transport.udp.constant.rate", "flood: rate"],
  ["flows.tcp.count", "tcp: count"],
  ["topology.star.bottleneck.rate", "bottleneck rate"],
  ["topology.star.bottleneck.queue.drop_tail.limit", "drop tail limit"],
  ["topology.star.bottleneck.queue.red.max_probability", "max probability"],
  ["topology.dumbbell.sources", "sources"],
  ["probes.interval", "interval"],
  ["flows.a.start.uniform.1", "a: 1"],
])("%s is labelled %s", (path, label) => {
  expect(labelOf(path)).toBe(label);
});
