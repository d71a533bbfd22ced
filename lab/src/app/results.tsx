// The results of the runs of a session: charts, figures and tables of one to three disciplines.

import { signal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart";
import type { ChartModel } from "../charts/model";
import { numberText, textWithUnit } from "../charts/units";
import type { RunResult } from "../engine/protocol";
import { BarsOf, hasMarks } from "./bars";
import {
  type FigureOptions,
  figuresOf,
  MOST_FLOWS,
  type Panel,
  recordedSenders,
  type Subject,
  withCommonAxes,
} from "./figures";
import type { Column, Session } from "./session";
import { type Figures, figuresOfRun, textsOf } from "./summary";
import { SummaryTable } from "./summary-table";
import { ResultTables } from "./tables";
import { together } from "./together";

export const FULL_PANELS: Panel[] = [
  "goodput",
  "queue_length",
  "queue_delay",
  "utilization",
  "drops",
  "marks",
  "delay_cdf",
  "gauges",
  "senders",
  "transfers",
  "packets",
  "crossbar",
  "pause",
];

/** No queues. */
export const NONE: string[] = [];
const GROUPED = ["auto", "flow", "group"] as const;

/** The state of the display that is no state of the runs. */
export class Display {
  readonly grouping = signal<(typeof GROUPED)[number]>("auto");
  /** Whether the disciplines of a comparison share charts; else each has a column. */
  readonly isTogether = signal(false);
  readonly sender = signal<string | undefined>(undefined);
}

interface ResultsProps {
  session: Session;
  display: Display;
  panels: readonly Panel[];
  /** What comes after the charts of columns: views of packets. */
  children?: ComponentChildren;
}

export function subjectOf(session: Session, column: Column): Subject | undefined {
  const facts = session.facts.value;
  column.version.value;
  return facts
    ? {
        facts,
        recording: column.recording,
        result: column.result.value,
        isRunning: column.state.value === "running",
        isWhole: column.state.value === "done",
      }
    : undefined;
}

export function isGrouped(session: Session, display: Display): boolean {
  const chosen = display.grouping.value;
  return chosen === "auto" ? (session.facts.value?.flow_count ?? 0) > MOST_FLOWS : chosen === "group";
}

export function Results({ session, display, panels, children }: ResultsProps) {
  const count = session.columns.value.length;
  if (count === 0 && !session.fault.value) {
    return <Skeleton count={session.contenders.value.length} panels={panels} />;
  }
  return (
    <div class={`results results-${display.isTogether.value ? 1 : count}`}>
      {panels.map(panel => (
        <PanelRow key={panel} panel={panel} session={session} display={display} />
      ))}
      {children}
    </div>
  );
}

/** Empty charts while the engine loads: the page does not move when it is there. */
function Skeleton({ count, panels }: { count: number; panels: readonly Panel[] }) {
  const charts = panels.filter(it => SKELETON.includes(it)).flatMap(it => Array(count).fill(it) as Panel[]);
  return (
    <div class={`results results-${count}`} aria-hidden="true">
      {charts.map((panel, i) => (
        <div class="chart chart-skeleton" key={`${panel} ${i}`} />
      ))}
    </div>
  );
}

const SKELETON: Panel[] = ["goodput", "queue_length", "queue_delay", "utilization"];

interface PanelProps {
  panel: Panel;
  session: Session;
  display: Display;
}

function PanelRow({ panel, session, display }: PanelProps) {
  const columns = session.columns.value;
  const view = panel === "delay_cdf" ? session.delayView : session.timeView;
  const models = useComputed<ChartModel[][]>(() => {
    const options: FigureOptions = {
      isGrouped: isGrouped(session, display),
      sender: display.sender.value,
      queues: session.place.value?.queues ?? NONE,
      links: session.place.value?.links ?? NONE,
      shown: session.timeView.zoom.value,
    };
    const found = session.columns.value.map(column => {
      const subject = subjectOf(session, column);
      const models = subject ? figuresOf(panel, subject, options) : [];
      // Once a run has ended, nothing more will come.
      return subject?.isRunning ? models : models.filter(it => it.lines.length > 0);
    });
    return withCommonAxes(found, view.hidden.value);
  });
  const isCompared = columns.length > 1;
  if (!isCompared) {
    return (
      <>
        {models.value[0]?.map((model, i) => (
          <Chart
            key={model.title}
            model={model}
            view={view}
            control={panel === "senders" && i === 0 && <SenderChoice session={session} display={display} />}
          />
        ))}
        {columns[0] && (
          <BarsOf panel={panel} session={session} column={columns[0]} isGrouped={isGrouped(session, display)} />
        )}
      </>
    );
  }
  const hasBars = panel === "drops" || (panel === "marks" && columns.some(hasMarks));
  if (models.value.every(it => it.length === 0) && !hasBars) {
    return null;
  }
  if (display.isTogether.value) {
    return <Together panel={panel} session={session} display={display} models={models.value} />;
  }
  if (panel === "gauges") {
    // Disciplines have different gauges: there is nothing to align.
    return (
      <div class="results results-1 wide">
        {columns.flatMap((column, i) =>
          models.value[i]?.map(model => (
            <Chart key={`${column.contender} ${model.title}`} model={model} view={view} context={column.label.value} />
          )),
        )}
      </div>
    );
  }
  return (
    <>
      {columns.map((column, i) => (
        <div class="cell" key={column.contender ?? ""}>
          {models.value[i]?.map((model, place) => (
            <Chart
              key={model.title}
              model={model}
              view={view}
              context={column.label.value}
              control={panel === "senders" && place === 0 && <SenderChoice session={session} display={display} />}
            />
          ))}
          <BarsOf panel={panel} session={session} column={column} isGrouped={isGrouped(session, display)} />
        </div>
      ))}
    </>
  );
}

interface TogetherProps extends PanelProps {
  models: ChartModel[][];
}

/** One chart of each quantity, or one for each discipline where it would have too many lines. */
function Together({ panel, session, display, models }: TogetherProps) {
  const columns = session.columns.value;
  const labels = columns.map(it => it.label.value);
  const view = panel === "delay_cdf" ? session.delayView : session.timeView;
  const titles = [...new Set(models.flat().map(it => it.title))];
  return (
    <>
      {titles.flatMap((title, i) => {
        const alike = models.map(column => column.find(it => it.title === title));
        const one = together(alike, labels);
        const control = panel === "senders" && i === 0 && <SenderChoice session={session} display={display} />;
        return one
          ? [<Chart key={title} model={one} view={view} control={control} />]
          : alike.map(
              (model, column) =>
                model && (
                  <Chart
                    key={`${title} ${labels[column]}`}
                    model={model}
                    view={view}
                    context={labels[column]}
                    control={control}
                  />
                ),
            );
      })}
      {columns.map(column => (
        <BarsOf
          key={column.contender ?? ""}
          panel={panel}
          session={session}
          column={column}
          isGrouped={isGrouped(session, display)}
          context={column.label.value}
        />
      ))}
    </>
  );
}

/** The choice of the TCP sender whose state is drawn. One that was not recorded is recorded in the next run. */
function SenderChoice({ session, display }: { session: Session; display: Display }) {
  const column = session.columns.value[0];
  const result = column?.result.value;
  const names = useMemo(() => (result ? tcpFlows(result) : []), [result]);
  if (!column || names.length === 0) {
    return null;
  }
  column.version.value;
  const recorded = recordedSenders(column.recording);
  const shown = display.sender.value ?? recorded[0] ?? "";
  return (
    <p class="choice">
      <label>
        Sender{" "}
        <select
          value={shown}
          onChange={event => {
            const name = event.currentTarget.value || undefined;
            display.sender.value = name;
            session.senders.value = name ? [name] : [];
          }}
        >
          <option value="">windows of all</option>
          {[...new Set([...recorded, ...names.slice(0, 200)])].map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}

function tcpFlows(result: RunResult): string[] {
  const kinds = textsOf(result.flows, "kind");
  return textsOf(result.flows, "name").filter((name, row) => kinds[row] === "tcp" && !name.endsWith("/request"));
}

const FIGURES: [title: string, hint: string, textOf: (it: Figures) => string][] = [
  ["Utilization", "Share of the time in which the link was sending", it => percent(it.utilization)],
  ["Jain's index", "Fairness of the flows' goodput: 1 if all are equal", it => numberText(it.jain, 3)],
  ["Mean wait", "From arrival to the beginning of transmission", it => textWithUnit("wait_s", it.wait_mean_s)],
  ["Peak queue", "Packets that waited at a time, at most", it => numberText(it.length_max_packets)],
  ["Dropped", "Share of the packets that arrived at the queue", it => percent(it.loss)],
];

function percent(share: number): string {
  return Number.isFinite(share) ? `${numberText(100 * share, 3)} %` : "–";
}

/** The figures as a sentence. */
export function headlineOf(figures: Figures): string {
  return FIGURES.map(([title, , textOf]) => `${title} ${textOf(figures)}`).join(", ");
}

/** The figures of a run in short. */
export function Headline({ session, column }: { session: Session; column: Column }) {
  const result = column.result.value;
  const queues = session.place.value?.queues ?? NONE;
  const figures = useMemo(() => (result ? figuresOfRun(result, queues) : undefined), [result, queues]);
  const isStale = useComputed(() => column.state.value !== "done");
  return (
    <dl class={isStale.value ? "figures is-stale" : "figures"}>
      {FIGURES.map(([title, hint, textOf]) => (
        <div key={title} title={hint}>
          <dt>{title}</dt>
          <dd>{figures ? textOf(figures) : "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Tables, warnings and the digest. */
export function Details({
  session,
  display,
  panels,
}: {
  session: Session;
  display: Display;
  panels: readonly Panel[];
}) {
  const columns = session.columns.value.filter(it => it.result.value);
  const isOfGroups = useSignal<boolean | undefined>(undefined);
  const shown = isOfGroups.value ?? isGrouped(session, display);
  if (columns.length === 0) {
    return null;
  }
  return (
    <>
      <SummaryTable
        columns={columns}
        isOfGroups={shown}
        onChange={value => {
          isOfGroups.value = value;
        }}
      />
      {panels.includes("transfers") && <ResultTables columns={columns} />}
      {columns.map(column => (
        <RunNotes key={column.contender ?? ""} column={column} isNamed={columns.length > 1} />
      ))}
    </>
  );
}

function RunNotes({ column, isNamed }: { column: Column; isNamed: boolean }) {
  const result = column.result.value;
  if (!result) {
    return null;
  }
  const { engine, digest, warnings, deadlock, series } = result;
  const kinds = new Set(series.map(it => it.kind));
  const missing = (["queue", "flow", "link"] as const).filter(it => !kinds.has(it));
  // Series are a part of the digest: those that the page asked for are named.
  const interval = column.overrides.find(([path]) => path === "probes.interval")?.[1];
  const speed = engine.cpu_s > 0 ? engine.packet_hops / engine.cpu_s : 0;
  return (
    <section class="notes" aria-label={isNamed ? `Notes on ${column.label.value}` : "Notes"}>
      {deadlock && (
        <p class="warning">
          Deadlock since {textWithUnit("time_s", deadlock.since_s, 4)}: {deadlock.links.join(" waits for ")}.
        </p>
      )}
      {warnings.map(warning => (
        <p class="warning" key={warning.text}>
          {sentence(warning.text)} {sentence(warning.remedy)}
        </p>
      ))}
      {missing.length > 0 && (
        <p class="engine">
          No charts of {missing.map(it => `${it}s`).join(" and ")}: the scenario does not record them. Its{" "}
          <code>[probes]</code> may have{" "}
          <code>series = [{["queues", "flows", "links"].map(it => `"${it}"`).join(", ")}]</code>.
        </p>
      )}
      <p class="engine">
        {isNamed && <b>{column.label.value}</b>} {numberText(engine.packet_hops, 9)} packet-hops
        {speed > 0 && `, ${numberText(speed / 1e6, 3)} million a second`} · seed {result.seed} · digest{" "}
        <code title={digest}>{digest.slice(0, 16)}</code>
        {interval && (
          <>
            {" "}
            with <code>probes.interval = {interval}</code>
          </>
        )}
      </p>
    </section>
  );
}

export function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === ""
    ? ""
    : `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? "" : "."}`;
}
