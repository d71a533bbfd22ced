// Packets in queues before their links: one view, or several of the same traffic next to each other.

import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { PacketLog, PauseLog } from "../engine/protocol";
import { type Clock, nearest } from "./clock";
import { flowLook } from "./colors";
import { Picture, TableOnDemand, ViewFrame } from "./frame";
import type { Arrangement, Extent } from "./geometry";
import { useClock, useDrawing, useSame, useTextTime, useTheme, useTimelines, useWidth } from "./hooks";
import { LiveText } from "./live-text";
import { eventName, lastEventText, stateText } from "./model/describe";
import { planSeries, type SeriesPlan } from "./model/flows";
import { formatBytes, formatSpan, plural } from "./model/format";
import { PacketModel } from "./model/packets";
import { PauseModel } from "./model/pause";
import { timeText } from "./playback";
import { SavePicture } from "./save-picture";
import { QueueScene } from "./scene";
import { isMotionReduced } from "./theme";
import "./packets.css";

/** A log with the name of its run, such as the discipline of a comparison. */
export interface PacketRun {
  label: string;
  log: PacketLog;
  /** PAUSE logs of the run: the view shows when its link is stopped. */
  pauses?: readonly PauseLog[] | undefined;
}

export interface PacketViewProps {
  /** One log, or the logs of a comparison: they share clock, scale and colors. */
  log?: PacketLog | undefined;
  pauses?: readonly PauseLog[] | undefined;
  runs?: readonly PacketRun[] | undefined;
  /** The clock of other views; without one the view has its own, with controls. */
  clock?: Clock | undefined;
  /** Whether the view has the controls of the clock; the default is true without `clock`. */
  hasControls?: boolean | undefined;
  /** The number of a flow's look, as in the charts; the default is the place of its name. */
  lookOf?: ((flow: string) => number | undefined) | undefined;
  /** The groups of flows in the order of their looks: many flows are drawn as groups. */
  groups?: readonly string[] | undefined;
  arrangement?: Arrangement | undefined;
}

const KEYS =
  "Space plays and pauses, Left and Right step to the previous and next event, with Shift to the previous and next drop, " +
  "M to the next mark, Plus and Minus change the speed, L shows a lane for each flow.";
const MOST_LANES = 10;
const MOST_LEGEND = 14;
const MOST_QUEUES = 4;
const MOST_NAMED = 6;
/** The time that the largest packet takes onto the link, at first. */
const FIRST_TRANSMISSION_S = 0.2;

export function PacketView(props: PacketViewProps) {
  const { log, pauses, runs, lookOf } = props;
  const groups = useSame(props.groups ?? [], group => [group]);
  const clock = useClock(props.clock);
  const shown = useSame(runs ?? (log ? [{ label: log.link, log, pauses }] : []), run => [
    run.label,
    run.log,
    run.pauses,
  ]);
  const all = useMemo(() => shown.map(run => new PacketModel(run.log, run.label)), [shown]);
  const isWhole = useSignal(false);
  const { models, hidden, idle } = useMemo(() => choose(all, isWhole.value), [all, isWhole.value]);
  const plan = useMemo(
    () =>
      planSeries(
        models.flatMap(model => model.log.flow_names),
        { lookOf, groups },
      ),
    [models, lookOf, groups],
  );
  const extents = useMemo(() => extentsOf(models, plan), [models, plan]);
  const timelines = useMemo(() => models.filter(model => model.eventCount > 0), [models]);
  const pace = useMemo(() => paceOf(models), [models]);
  useTimelines(clock, timelines, pace);
  const arrangement = useSignal<Arrangement>(props.arrangement ?? "auto");
  const isolated = useSignal<number | undefined>(undefined);
  const hasControls = props.hasControls ?? props.clock === undefined;
  const canLane = models.some(model => model.log.flow_names.length > 1);

  if (models.length === 0 && idle.length > 0)
    return <p class="pk pk-empty">No packet passed {listOf(idle)} in this time.</p>;
  if (shown.length === 0) return <p class="pk pk-empty">No packets were recorded.</p>;
  return (
    <ViewFrame
      label={shown.length === 1 ? "Packets in the queue" : "Packets in the queues, compared"}
      keys={KEYS}
      clock={clock}
      hasControls={hasControls}
      onKey={key => {
        if (key !== "l" || !canLane) return false;
        arrangement.value = arrangement.value === "lanes" ? "auto" : "lanes";
        return true;
      }}
    >
      <div class="pk-bar">
        <Legend plan={plan} isolated={isolated} hasMarks={models.some(model => model.marks.length > 0)} />
        <fieldset class="pk-choice">
          <legend class="pk-sr">Show the queue as</legend>
          {(
            [
              ["auto", "Packets"],
              ["compact", "Compact"],
              ["lanes", "By flow"],
            ] as const
          ).map(([value, text]) =>
            value === "lanes" && !canLane ? null : (
              <button
                type="button"
                key={value}
                aria-pressed={arrangement.value === value}
                onClick={() => {
                  arrangement.value = value;
                }}
              >
                {text}
              </button>
            ),
          )}
        </fieldset>
      </div>
      <p class="pk-note">
        Packets arrive at the left, wait, and go one after another onto the link at the right. A packet that falls is
        dropped.
      </p>
      {models.map(model => (
        <Queue
          key={model.label}
          model={model}
          pauses={shown[all.indexOf(model)]?.pauses}
          hasLabel={models.length > 1}
          extent={extents.get(model.log.link) as Extent}
          {...{ clock, plan, arrangement: arrangement.value, isolated: isolated.value }}
        />
      ))}
      {(hidden > 0 || isWhole.value) && (
        <p class="pk-note">
          {isWhole.value ? "All queues are shown: " : `${plural(hidden, "queue")} with fewer packets: `}
          <button
            type="button"
            class="pk-link"
            onClick={() => {
              isWhole.value = !isWhole.value;
            }}
          >
            {isWhole.value ? "show the longest" : "show all"}
          </button>
        </p>
      )}
      {idle.length > 0 && <p class="pk-note">No packet passed {listOf(idle)}.</p>}
      <LiveText
        clock={clock}
        text={time_s =>
          models
            .map(model => {
              const label = models.length > 1 ? `${model.label}: ` : "";
              const last = lastEventText(model, time_s);
              return `${label}${stateText(model, time_s, groups)}${last ? `; last event: ${last}` : ""}.`;
            })
            .join(" ")
        }
      />
    </ViewFrame>
  );
}

function Legend({
  plan,
  isolated,
  hasMarks,
}: {
  plan: SeriesPlan;
  isolated: { value: number | undefined };
  hasMarks: boolean;
}) {
  const box = useRef<HTMLUListElement>(null);
  const theme = useTheme(box);
  const isDark = theme.value?.isDark ?? false;
  return (
    <ul class="pk-legend" ref={box} aria-label="Flows">
      {plan.series.slice(0, MOST_LEGEND).map((series, place) => {
        const look = flowLook(series.look, isDark);
        return (
          <li key={series.name}>
            <button
              type="button"
              aria-pressed={isolated.value === place}
              title={`Show only ${series.name} in full color`}
              onClick={() => {
                isolated.value = isolated.value === place ? undefined : place;
              }}
            >
              <svg class="pk-swatch" viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
                <rect width="12" height="12" rx="2.5" fill={look.color} />
                {look.isStriped && <rect class="pk-stripe" y="8" width="12" height="1.6" />}
              </svg>
              {series.name}
            </button>
          </li>
        );
      })}
      {plan.series.length > MOST_LEGEND && (
        <li class="pk-key">and {plan.series.length - MOST_LEGEND} more, in the same colors</li>
      )}
      <li class="pk-key">
        <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
          <path class="pk-cross" d="M2 2 10 10M10 2 2 10" />
        </svg>
        dropped
      </li>
      {hasMarks && (
        <li class="pk-key">
          <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
            <rect class="pk-any" width="12" height="12" rx="2.5" />
            <circle class="pk-ring" cx="6" cy="6" r="3.4" />
            <circle class="pk-dot" cx="6" cy="6" r="1.8" />
          </svg>
          marked
        </li>
      )}
    </ul>
  );
}

interface QueueProps {
  model: PacketModel;
  pauses: readonly PauseLog[] | undefined;
  hasLabel: boolean;
  clock: Clock;
  plan: SeriesPlan;
  extent: Extent;
  arrangement: Arrangement;
  isolated: number | undefined;
}

function Queue({ model, pauses, hasLabel, clock, plan, extent, arrangement, isolated }: QueueProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scene = useRef<QueueScene | undefined>(undefined);
  const width = useWidth(box);
  const theme = useTheme(box);
  const text_s = useTextTime(clock);
  const jumps = useRef(-1);
  const drawn = useRef<unknown[]>([]);
  const pause = useMemo(
    () => (pauses ? new PauseModel(pauses.filter(log => log.link === model.log.link)) : undefined),
    [pauses, model],
  );

  useDrawing(box, () => {
    const look = theme.value;
    const wide = width.value;
    const time_s = clock.time_s.value;
    const isPlaying = clock.isPlaying.value;
    if (!canvas.current || !look || wide === 0) return false;
    scene.current ??= new QueueScene(canvas.current);
    const inputs = [model, plan, extent, arrangement, look, isolated, wide];
    if (inputs.some((input, place) => drawn.current[place] !== input)) {
      scene.current.prepare({ model, plan, extent, arrangement, theme: look, isolated }, wide);
      drawn.current = inputs;
    }
    // A step to a near event is a movement; the seek bar is not.
    const isSmooth = !isMotionReduced.value;
    jumps.current = clock.jumps.value;
    return scene.current.draw({
      time_s,
      slowness: clock.slowness.value,
      isPlaying,
      isSmooth,
      isStopped: pause?.isLinkStopped(model.log.link, time_s) ?? false,
    });
  });

  const tipAt = (x: number, y: number) => {
    const found = scene.current?.find(x, y);
    if (!found) return undefined;
    const { packet, where } = found;
    const since_s = model.enqueuedAt_s(packet);
    const waited = since_s === undefined ? "" : formatSpan(Math.max(clock.time_s.peek() - since_s, 0));
    return [
      `${model.log.flow_names[model.flowOf(packet)] ?? ""}, packet ${model.nameOf(packet)}`,
      formatBytes(model.bytesOf(packet)),
      where === "link" ? "on the link" : waited && `queued for ${waited}`,
      model.isMarkedAfter(packet, model.eventsUpTo(clock.time_s.peek())) ? "marked" : "",
    ]
      .filter(part => part !== "")
      .join(" · ");
  };

  const last = lastEventText(model, text_s.value);
  return (
    <div class="pk-queue">
      {hasLabel && <h4 class="pk-label">{model.label}</h4>}
      <Picture {...{ box, canvas, tipAt }} label={`Picture of the queue ${model.label}; the text below describes it`} />
      <p class="pk-state">
        <b class="pk-clock">t = {timeText(clock, text_s.value)}:</b> {stateText(model, text_s.value, plan.groups)}.
        {last && <span class="pk-last"> Last event: {last}.</span>}
      </p>
      {model.log.is_cut && (
        <p class="pk-note">
          The log was full at {timeText(clock, model.last_s)}: it has the first {model.eventCount.toLocaleString("en")}{" "}
          events.
        </p>
      )}
      <div class="pk-tools">
        <TableOnDemand title="Next events" of={model.label} table={() => <EventRows model={model} clock={clock} />} />
        <SavePicture canvas={canvas} name={model.label} clock={clock} series={plan.series.slice(0, MOST_LEGEND)} />
      </div>
    </div>
  );
}

const PAST = 3;
const NEXT = 9;

function EventRows({ model, clock }: { model: PacketModel; clock: Clock }) {
  const text_s = useTextTime(clock);
  const { log } = model;
  const now = model.eventsUpTo(text_s.value);
  const first = Math.max(now - PAST, 0);
  const last = Math.min(now + NEXT, model.eventCount);
  const rows = Array.from({ length: last - first }, (_, row) => first + row);
  return (
    <section
      class="pk-scroll"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the focus.
      tabIndex={0}
      aria-label={`Events of ${model.label}`}
    >
      <table>
        <caption class="pk-sr">
          The last {now - first} and the next {last - now} events of {model.label}
        </caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col" class="pk-number">
              In
            </th>
            <th scope="col">Event</th>
            <th scope="col">Flow</th>
            <th scope="col" class="pk-number">
              Size
            </th>
            <th scope="col" class="pk-number">
              Packet
            </th>
            <th scope="col" class="pk-number">
              Queued then
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(event => (
            <tr key={event} class={event < now ? "pk-past" : ""}>
              <td>{event < now ? "before" : "next"}</td>
              <td class="pk-number">{spanTo((log.times_s[event] as number) - text_s.value)}</td>
              <td>{eventName(log.events[event] as number)}</td>
              <td>{log.flow_names[log.flows[event] as number]}</td>
              <td class="pk-number">{formatBytes(log.bytes[event] as number)}</td>
              <td class="pk-number">{log.packets[event]}</td>
              <td class="pk-number">{model.lengths[event]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function spanTo(span_s: number): string {
  if (span_s === 0) return "now";
  return span_s < 0 ? `−${formatSpan(-span_s)}` : `+${formatSpan(span_s)}`;
}

/** Queues with packets: all, or as many of the longest as fit a page. All runs of a link are shown, or none. */
export function choose(
  models: readonly PacketModel[],
  isWhole: boolean,
): { models: readonly PacketModel[]; hidden: number; idle: readonly string[] } {
  const used = models.filter(model => model.eventCount > 0);
  const idle = models.filter(model => model.eventCount === 0).map(model => model.label);
  if (isWhole || used.length <= MOST_QUEUES) return { models: used, hidden: 0, idle };
  const peaks = new Map<string, number>();
  for (const { log, peakPackets } of used) peaks.set(log.link, Math.max(peaks.get(log.link) ?? 0, peakPackets));
  const links = [...peaks.keys()].sort((a, b) => (peaks.get(b) as number) - (peaks.get(a) as number));
  const chosen = new Set<string>();
  let count = 0;
  for (const link of links) {
    count += used.filter(model => model.log.link === link).length;
    if (count > MOST_QUEUES && chosen.size > 0) break;
    chosen.add(link);
  }
  const found = used.filter(model => chosen.has(model.log.link));
  return { models: found, hidden: used.length - found.length, idle };
}

function listOf(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).join(", ");
  return names.length > MOST_NAMED ? `${shown} and ${names.length - MOST_NAMED} more` : shown;
}

/** The scale of each link: runs of one link are drawn to the same scale. */
function extentsOf(models: readonly PacketModel[], plan: SeriesPlan): ReadonlyMap<string, Extent> {
  const links = [...new Set(models.map(model => model.log.link))];
  const ofLink = (link: string) => models.filter(model => model.log.link === link);
  return new Map(links.map(link => [link, extentOf(ofLink(link), plan)]));
}

/** The largest contents of the queues of all models. */
function extentOf(models: readonly PacketModel[], plan: SeriesPlan): Extent {
  const packets = new Map<string, number>();
  for (const model of models)
    model.log.flow_names.forEach((name, flow) => {
      // A flow that is never queued has no lane.
      if ((model.flowPeakPackets[flow] as number) > 0)
        packets.set(name, (packets.get(name) ?? 0) + (model.flowPackets[flow] as number));
    });
  const seriesOf = (name: string) => plan.indexOf.get(name) ?? 0;
  const inOrder = (a: string, b: string) => seriesOf(a) - seriesOf(b) || a.localeCompare(b, "en", { numeric: true });
  const names = [...packets.keys()].sort(inOrder);
  const chosen =
    names.length <= MOST_LANES
      ? names
      : [...names]
          .sort((a, b) => (packets.get(b) as number) - (packets.get(a) as number))
          .slice(0, MOST_LANES - 1)
          .sort(inOrder);
  const hasOtherLane = chosen.length < names.length;
  let laneBytes = 0;
  for (const model of models) {
    let others = 0;
    model.log.flow_names.forEach((name, flow) => {
      const bytes = model.flowPeakBytes[flow] as number;
      if (chosen.includes(name)) laneBytes = Math.max(laneBytes, bytes);
      else others += bytes;
    });
    laneBytes = Math.max(laneBytes, Math.min(others, model.peakBytes));
  }
  return {
    packets: Math.max(...models.map(model => model.peakPackets), 1),
    bytes: Math.max(...models.map(model => model.peakBytes), 1),
    largestPacket: Math.max(...models.map(model => model.largestPacket), 1),
    laneBytes,
    lanes: chosen,
    hasOtherLane,
  };
}

/** Slow motion in which a packet takes a visible time onto the link. */
function paceOf(models: readonly PacketModel[]): { slowness: number; resolution_s: number } {
  const spans = models.map(model => model.transmission_s(Math.max(model.largestPacket, 1)));
  const span_s = Math.max(Math.min(...spans), 1e-9);
  return { slowness: nearest(FIRST_TRANSMISSION_S / span_s), resolution_s: span_s / 10 };
}
