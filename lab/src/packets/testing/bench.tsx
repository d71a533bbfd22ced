// The views with logs of every kind, to look at and to measure: `npm run dev`, then /src/packets/testing/bench.html.
// The part after # is the name of a page; `window.clock` is its clock.

import { render } from "preact";
import { Clock } from "../clock";
import { PacketView } from "../packet-view";
import { type Flow, packetLog, type QueueOptions } from "./logs";

const FLOWS: Flow[] = [
  ...[0, 1, 2, 3, 4].map(number => ({ name: `tcp-${number}`, rate_bps: 14e6, bytes: 1500, burst: 2 })),
  { name: "flood", rate_bps: 60e6, bytes: 1000, burst: 1 },
];

function log(options: Partial<QueueOptions>) {
  return packetLog({
    discipline: "drop_tail",
    rate_bps: 100e6,
    limit: 24,
    duration_s: 0.5,
    flows: FLOWS,
    seed: 1,
    ...options,
  });
}

const MANY: Flow[] = Array.from({ length: 40 }, (_, number) => ({
  name: `tcp-${number}`,
  rate_bps: 3e6,
  bytes: number % 4 === 0 ? 200 : 1500,
  burst: 2,
}));

const pages: Record<string, () => preact.JSX.Element> = {
  row: () => <PacketView log={log({ mark_at: 14 })} clock={clock} hasControls={true} />,
  cells: () => <PacketView log={log({ limit: 250, mark_at: 200 })} clock={clock} hasControls={true} />,
  lanes: () => (
    <PacketView log={log({ discipline: "fair", limit: 60 })} arrangement="lanes" clock={clock} hasControls={true} />
  ),
  many: () => (
    <PacketView
      log={log({ limit: 5000, flows: MANY, duration_s: 8, mark_at: 4000 })}
      clock={clock}
      hasControls={true}
    />
  ),
  compact: () => (
    <PacketView
      log={log({ limit: 5000, flows: MANY, duration_s: 8, mark_at: 4000 })}
      arrangement="compact"
      clock={clock}
      hasControls={true}
    />
  ),
  compare: () => (
    <PacketView
      runs={[
        { label: "drop_tail", log: log({ limit: 60 }) },
        { label: "fair", log: log({ discipline: "fair", limit: 60 }) },
      ]}
      clock={clock}
      hasControls={true}
    />
  ),
};

const clock = new Clock();
Object.assign(window, { clock });
const page = pages[location.hash.slice(1)] ?? pages.row;
const root = document.getElementById("bench");
if (root && page) render(page(), root);
