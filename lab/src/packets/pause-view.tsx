// When PAUSE stops links: a row for each link and class.

import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { PauseLog } from "../engine/protocol";
import { type Clock, nearest } from "./clock";
import { TableOnDemand, ViewFrame } from "./frame";
import { useClock, useDrawing, useSame, useTextTime, useTheme, useTimelines, useWidth } from "./hooks";
import { LiveText } from "./live-text";
import { formatSpan, plural } from "./model/format";
import { className, PauseModel, type PauseRow, stopsAll } from "./model/pause";
import { timeText } from "./playback";
import { SavePicture } from "./save-picture";
import { shortened } from "./scene";
import "./packets.css";

export interface PauseViewProps {
  logs: readonly PauseLog[];
  label?: string | undefined;
  clock?: Clock | undefined;
  /** Whether the view has the controls of the clock; the default is true without `clock`. */
  hasControls?: boolean | undefined;
}

const MOST_ROWS = 24;
const ROW = 24;
const HEAD = 22;
const FIRST_CHANGE_S = 0.5;
/** The wall time that the near range shows. */
const NEAR_S = 4;

export function PauseView(props: PauseViewProps) {
  const { label } = props;
  const logs = useSame(props.logs, log => [log]);
  const clock = useClock(props.clock);
  const model = useMemo(() => new PauseModel(logs, label), [logs, label]);
  const timelines = useMemo(() => (model.rows.length > 0 ? [model] : []), [model]);
  const pace = useMemo(() => paceOf(model), [model]);
  useTimelines(clock, timelines, pace);
  const canvas = useRef<HTMLCanvasElement>(null);
  const isNear = useSignal(false);
  const isWhole = useSignal(false);
  const text_s = useTextTime(clock);
  const hasControls = props.hasControls ?? props.clock === undefined;
  if (model.rows.length === 0) return <p class="pk pk-empty">PAUSE stopped no link.</p>;
  const rows = isWhole.value ? model.rows : model.mostStopped(MOST_ROWS);
  const hidden = model.rows.length - rows.length;
  const cut = logs.filter(log => log.is_cut);
  return (
    <ViewFrame
      label="PAUSE"
      keys="Space plays and pauses, Left and Right step to the previous and next change, Plus and Minus change the speed."
      clock={clock}
      hasControls={hasControls}
    >
      <div class="pk-bar">
        <ul class="pk-legend" aria-label="Legend">
          <li class="pk-key">
            <svg viewBox="0 0 22 12" width="22" height="12" aria-hidden="true">
              <path class="pk-open" d="M0 6H22" />
            </svg>
            may send
          </li>
          <li class="pk-key">
            <svg viewBox="0 0 22 12" width="22" height="12" aria-hidden="true">
              <rect class="pk-stop-fill" width="22" height="12" rx="2" />
            </svg>
            stopped by PAUSE
          </li>
        </ul>
        <fieldset class="pk-choice">
          <legend class="pk-sr">Range of time</legend>
          {[false, true].map(value => (
            <button
              type="button"
              key={String(value)}
              aria-pressed={isNear.value === value}
              onClick={() => {
                isNear.value = value;
              }}
            >
              {value ? "Around now" : "Whole range"}
            </button>
          ))}
        </fieldset>
      </div>
      <Rows model={model} rows={rows} clock={clock} isNear={isNear.value} canvas={canvas} />
      {(hidden > 0 || isWhole.value) && (
        <p class="pk-note">
          {isWhole.value ? "All rows are shown. " : `${plural(hidden, "row")} that PAUSE stops for less time: `}
          <button
            type="button"
            class="pk-link"
            onClick={() => {
              isWhole.value = !isWhole.value;
            }}
          >
            {isWhole.value ? `show the ${MOST_ROWS} longest` : "show all"}
          </button>
        </p>
      )}
      <p class="pk-state">
        <b class="pk-clock">t = {timeText(clock, text_s.value)}:</b> {pauseText(model, text_s.value)}.
      </p>
      {cut.length > 0 && (
        <p class="pk-note">
          The log was full before the end for {cut.map(log => log.link).join(", ")}: later changes are missing.
        </p>
      )}
      <div class="pk-tools">
        <TableOnDemand
          of="links that PAUSE stops"
          table={() => <PauseTable model={model} clock={clock} time_s={text_s.value} />}
        />
        <SavePicture canvas={canvas} name={model.label} clock={clock} />
      </div>
      <LiveText clock={clock} text={time_s => `${pauseText(model, time_s)}.`} />
    </ViewFrame>
  );
}

function Rows({
  model,
  rows,
  clock,
  isNear,
  canvas,
}: {
  model: PauseModel;
  rows: readonly PauseRow[];
  clock: Clock;
  isNear: boolean;
  canvas: RefObject<HTMLCanvasElement | null>;
}) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const theme = useTheme(box);
  const range = useRef<{ from_s: number; to_s: number; left: number; right: number; unit: number } | undefined>(
    undefined,
  );

  useDrawing(box, () => {
    const look = theme.value;
    const wide = Math.floor(width.value / (look?.unit ?? 1));
    const time_s = clock.time_s.value;
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || !look || wide === 0) return false;
    const ratio = Math.min(Math.max(devicePixelRatio || 1, 1), 2) * look.unit;
    const high = HEAD + rows.length * ROW + 4;
    if (canvas.current.width !== Math.round(wide * ratio)) canvas.current.width = Math.round(wide * ratio);
    if (canvas.current.height !== Math.round(high * ratio)) canvas.current.height = Math.round(high * ratio);
    canvas.current.style.height = `${high * look.unit}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, wide, high);

    const left = wide < 520 ? 112 : 190;
    const right = wide - 6;
    const near_s = NEAR_S / clock.slowness.value;
    const from_s = isNear ? time_s - near_s / 2 : clock.first_s.value;
    const to_s = isNear ? time_s + near_s / 2 : clock.last_s.value;
    range.current = { from_s, to_s, left, right, unit: look.unit };
    const scale = (right - left) / Math.max(to_s - from_s, Number.MIN_VALUE);

    context.textBaseline = "middle";
    context.font = `11px ${look.font}`;
    context.fillStyle = look.soft;
    context.textAlign = "left";
    context.fillText(isNear ? `−${formatSpan(near_s / 2)}` : timeText(clock, from_s), left, 9);
    context.textAlign = "right";
    context.fillText(isNear ? `+${formatSpan(near_s / 2)}` : timeText(clock, to_s), right, 9);

    rows.forEach((row, place) => {
      const top = HEAD + place * ROW;
      const middle = top + ROW / 2;
      const isStopped = model.isStopped(row, time_s);
      context.fillStyle = look.shade;
      if (place % 2 === 0) context.fillRect(0, top, wide, ROW);
      // The state at the clock: a filled octagon stops, a circle does not.
      context.lineWidth = 1.5;
      context.beginPath();
      if (isStopped) {
        context.fillStyle = look.stop;
        octagon(context, 9, middle, 6);
        context.fill();
        context.fillStyle = look.panel;
        context.fillRect(6, middle - 1, 6, 2);
      } else {
        context.strokeStyle = look.soft;
        context.arc(9, middle, 4, 0, 2 * Math.PI);
        context.stroke();
      }
      context.textAlign = "left";
      context.font = `${isStopped ? "600 " : ""}11px ${look.font}`;
      context.fillStyle = look.ink;
      const name = className(row.class);
      const classWidth = context.measureText(name).width;
      context.fillText(shortened(context, row.link, left - 34 - classWidth), 21, middle);
      context.fillStyle = look.soft;
      context.textAlign = "right";
      context.fillText(name, left - 8, middle);

      context.fillStyle = look.line;
      context.fillRect(left, middle - 0.5, right - left, 1);
      context.fillStyle = look.stop;
      let start = Number.NaN;
      let end = Number.NaN;
      // Intervals that touch in pixels are one rectangle.
      model.eachInterval(row, from_s, to_s, (start_s, end_s) => {
        const x = left + (start_s - from_s) * scale;
        const stop = Math.max(left + (end_s - from_s) * scale, x + 0.75);
        if (x <= end + 0.25) {
          end = stop;
          return;
        }
        if (!Number.isNaN(start)) context.fillRect(start, middle - 7, end - start, 14);
        start = x;
        end = stop;
      });
      if (!Number.isNaN(start)) context.fillRect(start, middle - 7, end - start, 14);
    });
    const x = left + (time_s - from_s) * scale;
    context.fillStyle = look.ink;
    context.fillRect(Math.round(x) - 1, HEAD - 6, 2, rows.length * ROW + 6);
    context.beginPath();
    context.moveTo(x - 5, HEAD - 8);
    context.lineTo(x + 5, HEAD - 8);
    context.lineTo(x, HEAD - 2);
    context.fill();
    return false;
  });

  const seek = (event: PointerEvent) => {
    const area = canvas.current?.getBoundingClientRect();
    if (!area || !range.current || event.buttons !== 1) return;
    const { from_s, to_s, left, right, unit } = range.current;
    const x = (event.clientX - area.left) / unit;
    if (x < left) return;
    clock.seek(from_s + ((x - left) / (right - left)) * (to_s - from_s));
  };
  return (
    <div class="pk-scene pk-rows" ref={box} onPointerDown={seek} onPointerMove={isNear ? undefined : seek}>
      <canvas
        ref={canvas}
        role="img"
        aria-label="When PAUSE stops each link; the text and the table below describe it"
      />
    </div>
  );
}

function octagon(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  for (let corner = 0; corner < 8; corner += 1) {
    const angle = ((corner + 0.5) * Math.PI) / 4;
    context.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  context.closePath();
}

function PauseTable({ model, clock, time_s }: { model: PauseModel; clock: Clock; time_s: number }) {
  const from_s = clock.first_s.value;
  const to_s = clock.last_s.value;
  return (
    <section
      class="pk-scroll"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the focus.
      tabIndex={0}
      aria-label="Links that PAUSE stops"
    >
      <table>
        <caption class="pk-sr">Links and classes that PAUSE stops</caption>
        <thead>
          <tr>
            <th scope="col">Link</th>
            <th scope="col">Class</th>
            <th scope="col">Now</th>
            <th scope="col" class="pk-number">
              Stops
            </th>
            <th scope="col" class="pk-number">
              Stopped for
            </th>
            <th scope="col" class="pk-number">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {model.rows.map(row => {
            const since_s = model.stoppedSince_s(row, time_s);
            const stopped_s = model.stopped_s(row, from_s, to_s);
            return (
              <tr key={`${row.link} ${row.class}`}>
                <td>{row.link}</td>
                <td>{className(row.class)}</td>
                <td>{since_s === undefined ? "may send" : `stopped for ${formatSpan(time_s - since_s)}`}</td>
                <td class="pk-number">{Math.ceil(row.edges_s.length / 2)}</td>
                <td class="pk-number">{formatSpan(stopped_s)}</td>
                <td class="pk-number">{((stopped_s / Math.max(to_s - from_s, 1e-12)) * 100).toFixed(1)} %</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** Slow motion in which the links change about twice a second. */
function paceOf(model: PauseModel): { slowness: number; resolution_s: number } {
  const edges = model.rows.reduce((sum, row) => sum + row.edges_s.length, 0);
  const span_s = Math.max((model.last_s - model.first_s) / Math.max(edges, 1), 1e-9);
  return { slowness: nearest(FIRST_CHANGE_S / span_s), resolution_s: span_s / 10 };
}

const MOST_NAMED = 5;

function pauseText(model: PauseModel, time_s: number): string {
  const stopped = model.rows.filter(row => model.isStopped(row, time_s));
  if (stopped.length === 0) return "no link is stopped by PAUSE";
  const named = stopped.slice(0, MOST_NAMED).map(row => {
    const since_s = time_s - (model.stoppedSince_s(row, time_s) as number);
    return `${row.link}${stopsAll(row) ? "" : `, ${className(row.class)}`} (for ${formatSpan(since_s)})`;
  });
  const more = stopped.length - named.length;
  return `PAUSE stops ${stopped.length} of ${model.rows.every(stopsAll) ? plural(model.rows.length, "link") : plural(model.rows.length, "class of a link", "classes of links")}: ${named.join("; ")}${more > 0 ? ` and ${more} more` : ""}`;
}
