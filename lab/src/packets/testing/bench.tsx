// The views with logs of every kind, to look at and to measure: `npm run dev`, then /src/packets/testing/bench.html.
// The part after # is the name of a page; `window.clock` is its clock.

import { render } from "preact";
import type { Watched } from "../../engine/protocol";
import { Clock } from "../clock";
import { CrossbarView } from "../crossbar-view";
import { PacketView } from "../packet-view";
import { PauseView } from "../pause-view";
import { Playback } from "../playback";
import { crossbarLog, type Flow, packetLog, pauseLog, type QueueOptions } from "./logs";

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
  crossbar: () => <CrossbarView log={crossbarLog(8, 2000, 80e-6, 1)} clock={clock} hasControls={true} />,
  crossbar32: () => <CrossbarView log={crossbarLog(32, 500, 80e-9, 1)} clock={clock} hasControls={true} />,
  crossbars: () => (
    <CrossbarView
      runs={[
        { label: "islip", log: crossbarLog(4, 2000, 80e-6, 1) },
        { label: "mwm", log: crossbarLog(4, 2000, 80e-6, 2) },
      ]}
      clock={clock}
      hasControls={true}
    />
  ),
  pause: () => <PauseView logs={PAUSES} clock={clock} hasControls={true} />,
  all: () => (
    <div>
      <PacketView log={log({ limit: 60, mark_at: 50 })} pauses={PAUSES} clock={clock} hasControls={true} />
      <PauseView logs={PAUSES} clock={clock} />
    </div>
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

const PAUSES = [
  pauseLog("SW1->SW2", [0, 3], 0.5, 0.004, 1),
  pauseLog("a-switch-with-a-long-name->another", [3], 0.5, 0.002, 2),
  pauseLog("left -> right", [3], 0.5, 0.001, 3),
  pauseLog("1->SW1", [3], 0.5, 0.00005, 4),
];

const clock = new Clock();
Object.assign(window, { clock });
const name = location.hash.slice(1);
const page = pages[name] ?? pages.row;
const root = document.getElementById("bench");
if (root && name.endsWith(".json")) void show(root, name);
else if (root && page) render(page(), root);

/** Logs of a run: arrays in place of typed arrays, as JSON. */
async function show(element: HTMLElement, file: string): Promise<void> {
  const { packets, crossbars, pauses } = (await (await fetch(file)).json()) as Watched;
  render(
    <div>
      <Playback clock={clock} />
      {packets.length > 0 && (
        <PacketView
          runs={packets.map(log => ({
            label: log.link,
            log: {
              ...log,
              times_s: Float64Array.from(log.times_s),
              events: Uint8Array.from(log.events),
              flows: Uint32Array.from(log.flows),
              bytes: Uint32Array.from(log.bytes),
              packets: Uint32Array.from(log.packets),
            },
            pauses,
          }))}
          clock={clock}
        />
      )}
      {crossbars.map(log => (
        <CrossbarView key={log.node} log={log} clock={clock} />
      ))}
      {pauses.length > 0 && <PauseView logs={pauses} clock={clock} />}
    </div>,
    element,
  );
}
