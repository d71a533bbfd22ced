import { expect, test } from "vitest";
import { Recording } from "../charts/recording";
import type { Facts, Series } from "../engine/protocol";
import { type FigureOptions, figuresOf, type Subject } from "./figures";

const OPTIONS: FigureOptions = { isGrouped: false, sender: undefined, queues: [], links: [], shown: undefined };

const series = (kind: string, name: string, quantity: string, values: number[]): Series => ({
  kind,
  name,
  quantity,
  start_s: 0,
  interval_s: 1,
  values: Float64Array.from(values),
  states: [],
});

function subjectOf(found: Series[], rates: Record<string, number> = {}): Subject {
  const recording = new Recording(2);
  recording.finish(found);
  const links = Object.entries(rates).map(([name, rate_bps]) => ({ name, rate_bps }));
  const facts = { duration_s: 2, warmup_s: 0, plan: { links, groups: [{ name: "tcp" }, { name: "udp" }] } };
  return { facts: facts as unknown as Facts, recording, result: undefined, isRunning: false, isWhole: true };
}

test("the state of single flows at a queue is a chart with a line for each, in the order of their groups", () => {
  const subject = subjectOf([
    series("queue", "bottleneck", "length_packets", [1, 2]),
    series("flow", "udp", "goodput_bps", [1, 1]),
    series("flow", "tcp-1", "goodput_bps", [1, 1]),
    series("queue_flow", "bottleneck/udp", "credits", [3, 1]),
    series("queue_flow", "bottleneck/tcp-1", "credits", [15, 14]),
    series("queue_flow", "elsewhere/udp", "credits", [9, 9]),
  ]);
  const charts = figuresOf("gauges", subject, OPTIONS);
  expect(charts).toHaveLength(1);
  expect(charts[0]?.title).toContain("of flows at bottleneck");
  expect(charts[0]?.lines.map(it => [it.label, [...it.values]])).toEqual([
    ["tcp-1", [15, 14]],
    ["udp", [3, 1]],
  ]);
});

test("of more links than lines, those that carry most are drawn", () => {
  const slow = Array.from({ length: 20 }, (_, i) => `access-${i}`);
  const names = [...slow, "output-2", "output-1"];
  const subject = subjectOf(
    names.map(name => series("link", name, "utilization", [name.startsWith("access") ? 0.9 : 0.5, Number.NaN])),
    Object.fromEntries(names.map(name => [name, name.startsWith("access") ? 25e6 : 2.5e9])),
  );
  const [chart] = figuresOf("utilization", subject, OPTIONS);
  const labels = chart?.lines.map(it => it.label) ?? [];
  expect(labels).toHaveLength(8);
  expect(labels.slice(-2)).toEqual(["output-1", "output-2"]);
});
