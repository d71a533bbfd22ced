// Scenarios of the repository, with the traces that they name.

import backbone from "../../../examples/backbone.toml?raw";
import campus from "../../../examples/campus.toml?raw";
import cellular from "../../../examples/cellular.toml?raw";
import ethernet from "../../../examples/ethernet.toml?raw";
import first from "../../../examples/first.toml?raw";
import game from "../../../examples/game.toml?raw";
import home from "../../../examples/home.toml?raw";
import hops from "../../../examples/hops.toml?raw";
import short from "../../../examples/short-flows.toml?raw";
import switchText from "../../../examples/switch.toml?raw";
import train from "../../../examples/traces/lte-train.csv?raw";
import web from "../../../examples/web.toml?raw";
import type { Files } from "./engine";

export interface Example {
  name: string;
  title: string;
  text: string;
  files?: Files;
}

type Slider = [key: string, from: string, to: string, label: string];

/** The text with sliders at its end, unless it has some. */
function withSliders(text: string, sliders: Slider[]): string {
  if (/^\[lab\]/m.test(text)) {
    return text;
  }
  const pins = sliders.map(
    ([key, from, to, label]) => `  { key = "${key}", from = "${from}", to = "${to}", label = "${label}" },\n`,
  );
  return `${text.trimEnd()}\n\n# The sliders above\n[lab]\npins = [\n${pins.join("")}]\n`;
}

export const EXAMPLES: Example[] = [
  {
    name: "first",
    title: "Five TCP flows and a flood",
    text: first,
  },
  {
    name: "home",
    title: "A home on a slow line",
    text: withSliders(home, [
      ["topology.home.up.queue.drop_tail.limit", "16 KB", "1024 KB", "Buffer of the modem"],
      ["topology.home.up.rate", "2 Mbps", "50 Mbps", "Rate of the uplink"],
    ]),
  },
  {
    name: "web",
    title: "Web pages next to downloads",
    text: withSliders(web, [
      ["topology.dumbbell.bottleneck.queue.drop_tail.limit", "10 packets", "600 packets", "Buffer"],
    ]),
  },
  {
    name: "game",
    title: "A game next to a backup",
    text: withSliders(game, [["topology.home.up.queue.drop_tail.limit", "16 KB", "1024 KB", "Buffer of the modem"]]),
  },
  {
    name: "cellular",
    title: "A call on a train",
    text: withSliders(cellular, [
      ["topology.star.bottleneck.queue.drop_tail.limit", "20 packets", "2000 packets", "Buffer"],
    ]),
    files: { "traces/lte-train.csv": train },
  },
  {
    name: "short-flows",
    title: "Short transfers that arrive at random",
    text: withSliders(short, [["flows.web.app.transfers.gap.exponential", "7 ms", "40 ms", "Time between transfers"]]),
  },
  {
    name: "hops",
    title: "Three congested hops",
    text: withSliders(hops, [["flows.flood.transport.udp.constant.rate", "1 Mbps", "100 Mbps", "Rate of the floods"]]),
  },
  {
    name: "backbone",
    title: "Many downloads, a small buffer",
    text: withSliders(backbone, [
      ["topology.dumbbell.bottleneck.queue.drop_tail.limit", "5 packets", "1000 packets", "Buffer"],
      ["flows.download.count", "5", "120", "Downloads"],
    ]),
  },
  {
    name: "switch",
    title: "A switch with a crossbar",
    text: withSliders(switchText, [
      ["topology.switch.fabric.cioq.voq_limit", "5 packets", "200 packets", "Virtual output queues"],
    ]),
  },
  {
    name: "ethernet",
    title: "PAUSE on a lossless Ethernet",
    text: withSliders(ethernet, [
      ["flows.culprit.transport.frames.rate", "1 Gbps", "10 Gbps", "Rate of the culprits"],
      ["flows.victim.transport.frames.rate", "1 Gbps", "10 Gbps", "Rate of the victim"],
    ]),
  },
  {
    name: "campus",
    title: "An Ethernet behind a router",
    text: withSliders(campus, [["flows.copy.transport.frames.rate", "100 Mbps", "1000 Mbps", "Rate of the copies"]]),
  },
];

/** The traces of all examples: a text that was edited still finds them. */
export const EXAMPLE_FILES: Files = Object.assign({}, ...EXAMPLES.map(it => it.files ?? {}));

export function exampleOf(name: string | null | undefined): Example | undefined {
  return EXAMPLES.find(it => it.name === name);
}
