// The page of captures: a file of packets goes through queues of the reader's choice. It never leaves the browser.

import { computed, type Signal, signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Chart, type ChartView } from "../charts/chart";
import { numberText, textWithUnit } from "../charts/units";
import type { Fault, ReplayResult } from "../engine/protocol";
import { askForChoices, choices } from "./choices";
import { DisciplineOptions } from "./compare-bar";
import { engine } from "./current-engine";
import type { Running } from "./engine";
import { PivotTable, type Quantity } from "./pivot-table";
import { flowTables, queueRows, replayDelays, replayModels } from "./replay-figures";
import { sentence } from "./results";
import "./styles/capture.css";
import "./styles/lab.css";
import { isDark } from "./theme";

interface Capture {
  name: string;
  bytes: Uint8Array;
}

/** A capture of more bytes does not fit into the memory of a page twice. */
const MOST_BYTES = 1.2e9;
const MOST_QUEUES = 3;
const TYPING_MS = 400;

/** The state of the page. It outlives a visit to another page. */
const state = {
  capture: signal<Capture | undefined>(undefined),
  rate: signal("20 Mbps"),
  queues: signal<readonly string[]>(["dbl", "drop_tail", "fq_codel"]),
  destination: signal(""),
  seed: signal(1),
  fraction: signal<number | undefined>(undefined),
  fault: signal<Fault | undefined>(undefined),
  result: signal<ReplayResult | undefined>(undefined),
  fitted: signal<readonly string[]>([]),
};

let job: Running<ReplayResult> | undefined;
let turn = 0;

async function replay(): Promise<void> {
  const capture = state.capture.peek();
  if (!capture) {
    return;
  }
  cancel();
  turn += 1;
  const mine = turn;
  const rate = state.rate.peek().trim();
  const destination = state.destination.peek().trim();
  state.fraction.value = 0;
  state.fault.value = undefined;
  const queues = await Promise.all(
    state.queues.peek().map(async discipline => {
      const parameters = await engine.fitted(discipline, rate);
      return {
        label: discipline,
        discipline,
        parameters: parameters.map(([name, value]): [string, string] => [name, String(value)]),
      };
    }),
  );
  if (mine !== turn) {
    return;
  }
  const options = {
    rate,
    queues,
    destination: destination === "" ? undefined : destination,
    seed: state.seed.peek(),
    interval: undefined,
  };
  job = engine.replay(capture.bytes, options, {
    onProgress: fraction => {
      if (mine === turn) {
        state.fraction.value = fraction;
      }
    },
  });
  const outcome = await job.ended;
  if (mine !== turn || outcome === "cancelled") {
    return;
  }
  job = undefined;
  state.fraction.value = undefined;
  if ("fault" in outcome) {
    state.fault.value = outcome.fault;
    state.result.value = undefined;
  } else {
    state.result.value = outcome.result;
    state.fitted.value = queues.map(
      it => `${it.label}: ${it.parameters.map(([name, value]) => `${name} ${value}`).join(", ") || "its defaults"}`,
    );
  }
}

function cancel(): void {
  turn += 1;
  job?.cancel();
  job = undefined;
  state.fraction.value = undefined;
}

async function take(file: File | undefined): Promise<void> {
  if (!file) {
    return;
  }
  if (file.size > MOST_BYTES) {
    state.fault.value = fileFault(
      `${file.name} has ${textWithUnit("size_bytes", file.size)}, and a page can hold ${textWithUnit("size_bytes", MOST_BYTES)}`,
      "replay it with the command line: forebay replay",
    );
    return;
  }
  try {
    state.capture.value = { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
  } catch {
    state.fault.value = fileFault(`${file.name} cannot be read`, "choose the file again");
    return;
  }
  await replay();
}

function fileFault(message: string, help: string): Fault {
  return { kind: "capture", message, label: "", help, span: undefined, rendered: message };
}

export function CapturePage() {
  useEffect(askForChoices, []);
  const fraction = state.fraction.value;
  const fault = state.fault.value;
  const result = state.result.value;
  return (
    <div class="capture">
      <header class="page-head">
        <h1>Replay a capture</h1>
        <p>
          The packets of a capture arrive at a queue at the times of the capture, and leave at the rate of a port. Up to
          three queues get the same packets. The file stays in this browser.
        </p>
      </header>
      <DropZone />
      <CaptureForm />
      {fraction !== undefined && (
        <p class="capture-progress">
          <progress max={1} value={fraction} aria-label="Progress of the replay" />
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        </p>
      )}
      <output class="sr-only">{result && fraction === undefined ? "The replay is complete" : ""}</output>
      {fault && (
        <div class="fault" role="alert">
          <p>
            <strong>{sentence(fault.message)}</strong>
          </p>
          {fault.help && <p class="help">{sentence(fault.help)}</p>}
        </div>
      )}
      {result && <ReplayResults result={result} isStale={fraction !== undefined} />}
    </div>
  );
}

function DropZone() {
  const isOver = useSignal(false);
  const capture = state.capture.value;
  return (
    <label
      class={isOver.value ? "drop is-over" : "drop"}
      onDragOver={event => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => {
        isOver.value = false;
      }}
      onDrop={event => {
        event.preventDefault();
        isOver.value = false;
        void take(event.dataTransfer?.files[0]);
      }}
    >
      <input
        type="file"
        class="sr-only"
        accept=".pcap,.pcapng,.cap,.gz,.frec"
        onChange={event => {
          void take(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
      {capture ? (
        <span>
          <strong>{capture.name}</strong> {textWithUnit("size_bytes", capture.bytes.length)}
          <span class="drop-hint">Drop or choose another file</span>
        </span>
      ) : (
        <span>
          <strong>Drop a capture here</strong>
          <span class="drop-hint">or choose a file: pcap or pcapng, also with gzip</span>
        </span>
      )}
    </label>
  );
}

function CaptureForm() {
  const later = useMemo(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    return (wait: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => void replay(), wait);
    };
  }, []);
  const queues = state.queues.value;
  const setQueues = (changed: string[]) => {
    state.queues.value = changed;
    later(0);
  };
  return (
    <form
      class="capture-form"
      onSubmit={event => {
        event.preventDefault();
        void replay();
      }}
    >
      <label class="field">
        <span>Rate of the port</span>
        <input
          type="text"
          value={state.rate.value}
          onInput={event => {
            state.rate.value = event.currentTarget.value;
            later(TYPING_MS);
          }}
        />
      </label>
      {queues.map((queue, i) => (
        <div class="field" key={queue}>
          <label for={`queue-${i}`}>Queue {i + 1}</label>
          <span class="field-row">
            <select
              id={`queue-${i}`}
              value={queue}
              onChange={event => {
                const { value } = event.currentTarget;
                setQueues(queues.map((it, other) => (other === i ? value : it)));
              }}
            >
              {choices.value.length === 0 && <option value={queue}>{queue}</option>}
              <DisciplineOptions choices={choices.value} isTaken={it => it !== queue && queues.includes(it ?? "")} />
            </select>
            {queues.length > 1 && (
              <button
                type="button"
                class="icon"
                aria-label={`Remove ${queue}`}
                onClick={() => setQueues(queues.filter(it => it !== queue))}
              >
                ×
              </button>
            )}
          </span>
        </div>
      ))}
      {queues.length < MOST_QUEUES && choices.value.length > 0 && (
        <label class="field">
          <span>Another queue</span>
          <select
            value=""
            onChange={event => {
              const { value } = event.currentTarget;
              event.currentTarget.value = "";
              setQueues([...queues, value]);
            }}
          >
            <option value="" disabled hidden>
              + Add…
            </option>
            <DisciplineOptions choices={choices.value} isTaken={it => queues.includes(it ?? "")} />
          </select>
        </label>
      )}
      <label class="field">
        <span>Only packets to</span>
        <input
          type="text"
          placeholder="any address"
          value={state.destination.value}
          onInput={event => {
            state.destination.value = event.currentTarget.value;
            later(TYPING_MS);
          }}
        />
      </label>
      <label class="field">
        <span>Seed</span>
        <input
          type="number"
          min="0"
          step="1"
          value={state.seed.value}
          onInput={event => {
            const { valueAsNumber } = event.currentTarget;
            if (Number.isSafeInteger(valueAsNumber) && valueAsNumber >= 0) {
              state.seed.value = valueAsNumber;
              later(TYPING_MS);
            }
          }}
        />
      </label>
    </form>
  );
}

const hidden: Signal<ReadonlySet<string>> = signal(new Set());
const view = (syncKey: string): ChartView => ({
  zoom: signal<[number, number] | undefined>(undefined),
  hidden,
  syncKey,
  isDark,
});
const TIME_VIEW = view("capture time");
const DELAY_VIEW = view("capture delay");
const isZoomed = computed(() => TIME_VIEW.zoom.value !== undefined || DELAY_VIEW.zoom.value !== undefined);

const QUEUE_QUANTITIES: Quantity[] = [
  { key: "packets_dropped", title: "Dropped" },
  { key: "loss", title: "Dropped", hasBar: true },
  { key: "packets_marked", title: "Marked" },
  { key: "delay_mean_s", title: "Mean delay" },
  { key: "delay_p99_s", title: "99th percentile" },
  { key: "delay_max_s", title: "Longest delay" },
  { key: "length_mean_packets", title: "Mean length" },
  { key: "length_max_packets", title: "Longest" },
  { key: "utilization", title: "Link used" },
];

const FLOW_QUANTITIES: Quantity[] = [
  { key: "packets", title: "Packets", isCommon: true },
  { key: "offered_bps", title: "Offered", isCommon: true },
  { key: "loss", title: "Dropped", hasBar: true },
  { key: "delay_mean_s", title: "Mean delay" },
  { key: "delay_p99_s", title: "99th percentile" },
  { key: "packets_marked", title: "Marked" },
  { key: "classified_at_s", title: "Belligerent since" },
];

function ReplayResults({ result, isStale }: { result: ReplayResult; isStale: boolean }) {
  const zoom = TIME_VIEW.zoom.value;
  const { first, more } = useMemo(() => replayModels(result, zoom), [result, zoom]);
  const delays = useMemo(() => replayDelays(result), [result]);
  const flows = useMemo(() => flowTables(result), [result]);
  const queues = useMemo(() => queueRows(result), [result]);
  const filled = FLOW_QUANTITIES.filter(({ key }) =>
    flows.some(table => [...table.values()].some(it => (it.values[key] ?? 0) > 0)),
  );
  const notes = [
    [result.packets_unselected, "packets to other addresses were left out"],
    [result.packets_unaddressed, "packets have no address and were left out"],
    [result.packets_out_of_order, "packets were out of order and came at the time of the packet before"],
    [result.packets_missed, "packets were missed by the capture"],
    [result.packets_cut, "packets were cut short by the capture"],
    [result.packets_opaque, "packets have no ports, or an unknown protocol"],
  ] as const;
  return (
    <div class="capture-results" aria-busy={isStale}>
      <p class="capture-facts">
        {numberText(result.packets, 9)} packets in {textWithUnit("time_s", result.duration_s, 4)}, at{" "}
        {textWithUnit("rate_bps", result.rate_bps)}
        {isZoomed.value && (
          <button
            type="button"
            onClick={() => {
              TIME_VIEW.zoom.value = undefined;
              DELAY_VIEW.zoom.value = undefined;
            }}
          >
            Show all
          </button>
        )}
      </p>
      {result.warnings.map(warning => (
        <p class="warning" key={warning.text}>
          {sentence(warning.text)} {sentence(warning.remedy)}
        </p>
      ))}
      <section class="card" aria-label="Queues">
        <header class="card-head">
          <h2>Queues</h2>
        </header>
        <PivotTable
          heading="Queue"
          label="Table of queues"
          runs={[""]}
          tables={[queues]}
          quantities={QUEUE_QUANTITIES.filter(({ key }) => [...queues.values()].some(it => (it.values[key] ?? 0) > 0))}
        />
      </section>
      <div class="results results-1">
        {first.map(model => (
          <Chart key={model.title} model={model} view={TIME_VIEW} />
        ))}
        {delays.lines.length > 0 && <Chart model={delays} view={DELAY_VIEW} />}
        {more.map(model => (
          <Chart key={model.title} model={model} view={TIME_VIEW} />
        ))}
      </div>
      <section class="card" aria-label="Flows">
        <header class="card-head">
          <h2>Flows</h2>
        </header>
        <PivotTable
          heading="Flow"
          label="Table of flows"
          runs={[...queues.keys()]}
          tables={flows}
          quantities={filled}
        />
      </section>
      <section class="notes" aria-label="Notes">
        {notes
          .filter(([count]) => count > 0)
          .map(([count, text]) => (
            <p class="engine" key={text}>
              {numberText(count, 9)} {text}.
            </p>
          ))}
        <p class="engine">
          Parameters that were not given follow from the rate: {state.fitted.value.join("; ")}. Seed {result.seed}.
        </p>
      </section>
    </div>
  );
}
