// Scenarios of the repository that need no other file.

import backbone from "../../../examples/backbone.toml?raw";
import campus from "../../../examples/campus.toml?raw";
import ethernet from "../../../examples/ethernet.toml?raw";
import first from "../../../examples/first.toml?raw";
import game from "../../../examples/game.toml?raw";
import home from "../../../examples/home.toml?raw";
import hops from "../../../examples/hops.toml?raw";
import short from "../../../examples/short-flows.toml?raw";
import switchText from "../../../examples/switch.toml?raw";
import web from "../../../examples/web.toml?raw";

export interface Example {
  name: string;
  title: string;
  text: string;
}

export const EXAMPLES: Example[] = [
  { name: "first", title: "Five TCP flows and a flood", text: first },
  { name: "home", title: "A home on a slow line", text: home },
  { name: "web", title: "Web pages next to downloads", text: web },
  { name: "game", title: "A game next to a backup", text: game },
  { name: "short-flows", title: "Short transfers that arrive at random", text: short },
  { name: "hops", title: "Three congested hops", text: hops },
  { name: "backbone", title: "Many downloads, a small buffer", text: backbone },
  { name: "switch", title: "A switch with a crossbar", text: switchText },
  { name: "ethernet", title: "PAUSE on a lossless Ethernet", text: ethernet },
  { name: "campus", title: "An Ethernet behind a router", text: campus },
];

export function exampleOf(name: string | null | undefined): Example | undefined {
  return EXAMPLES.find(it => it.name === name);
}
