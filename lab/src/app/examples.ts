// Scenarios of the repository, with the traces that they name.

import backbone from "../../../examples/backbone.toml?raw";
import campus from "../../../examples/campus.toml?raw";
import cellular from "../../../examples/cellular.toml?raw";
import ethernet from "../../../examples/ethernet.toml?raw";
import fabric from "../../../examples/fabric.toml?raw";
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

export const EXAMPLES: Example[] = [
  {
    name: "first",
    title: "Five TCP flows and a flood",
    text: first,
  },
  {
    name: "home",
    title: "A home on a slow line",
    text: home,
  },
  {
    name: "web",
    title: "Web pages next to downloads",
    text: web,
  },
  {
    name: "game",
    title: "A game next to a backup",
    text: game,
  },
  {
    name: "cellular",
    title: "A call on a train",
    text: cellular,
    files: { "traces/lte-train.csv": train },
  },
  {
    name: "short-flows",
    title: "Short transfers that arrive at random",
    text: short,
  },
  {
    name: "hops",
    title: "Three congested hops",
    text: hops,
  },
  {
    name: "backbone",
    title: "Many downloads, a small buffer",
    text: backbone,
  },
  {
    name: "switch",
    title: "A switch with a crossbar",
    text: switchText,
  },
  {
    name: "ethernet",
    title: "PAUSE on a lossless Ethernet",
    text: ethernet,
  },
  {
    name: "fabric",
    title: "Two paths across a leaf-spine fabric",
    text: fabric,
  },
  {
    name: "campus",
    title: "An Ethernet behind a router",
    text: campus,
  },
];

/** The traces of all examples: a text that was edited still finds them. */
export const EXAMPLE_FILES: Files = Object.assign({}, ...EXAMPLES.map(it => it.files ?? {}));

export function exampleOf(name: string | null | undefined): Example | undefined {
  return EXAMPLES.find(it => it.name === name);
}
