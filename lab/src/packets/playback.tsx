// Controls of a clock: play, steps, slow motion and the seek bar with the course of each timeline.

import { useRef } from "preact/hooks";
import { type Clock, nearest, SLOWNESS } from "./clock";
import { useDrawing, useTextTime, useTheme, useWidth } from "./hooks";
import { Icon } from "./icons";
import { formatCount, formatSlowness, formatSpan, formatTime } from "./model/format";
import type { Course, Moment, Timeline } from "./model/timeline";
import { isMotionReduced } from "./theme";

/** The wall time in which the last digit of the time changes. */
const DIGIT_S = 0.02;

/** A time of the clock with as many digits as the events and the speed need. */
export function timeText(clock: Clock, time_s: number): string {
  const resolutions = [clock.resolution_s.value, DIGIT_S / clock.slowness.value];
  const range_s = clock.last_s.value - clock.first_s.value;
  if (range_s > 0) resolutions.push(range_s / 1000);
  return formatTime(time_s, clock.last_s.value, Math.min(...resolutions));
}

/** Handles the keys of a view; returns whether the key has a meaning. */
export function handleKey(clock: Clock, event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  switch (event.key) {
    case " ":
      if (isMotionReduced.value) clock.step(1);
      else clock.toggle();
      return true;
    case "ArrowRight":
      clock.step(1, event.shiftKey ? "drop" : "event");
      return true;
    case "ArrowLeft":
      clock.step(-1, event.shiftKey ? "drop" : "event");
      return true;
    case "m":
      clock.step(1, "mark");
      return true;
    case "M":
      clock.step(-1, "mark");
      return true;
    case "Home":
      clock.seek(clock.first_s.value);
      return true;
    case "End":
      clock.seek(clock.last_s.value);
      return true;
    case "+":
    case "=":
      clock.slower(-1);
      return true;
    case "-":
      clock.slower(1);
      return true;
    default:
      return false;
  }
}

/** Whether a key on an element of a view is for the clock: controls keep their own keys. */
export function keysFor(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  if (target === event.currentTarget || target.closest(".pk-scene") !== null) return true;
  return target.closest("button") !== null && event.key.startsWith("Arrow");
}

export function Playback({ clock }: { clock: Clock }) {
  const text_s = useTextTime(clock);
  const isPlaying = clock.isPlaying.value;
  const slowness = clock.slowness.value;
  const place = SLOWNESS.indexOf(nearest(slowness));
  const jump = (direction: 1 | -1, moment: Moment) => () => clock.step(direction, moment);
  const has = (direction: 1 | -1, moment: Moment) => {
    text_s.value;
    return isPlaying || clock.findMoment(direction, moment) !== undefined;
  };
  const kinds = momentsOf(clock.timelines.value);
  return (
    <div class="pk-playback">
      <fieldset class="pk-buttons" aria-label="Playback">
        <button
          type="button"
          class="pk-button"
          onClick={() => clock.seek(clock.first_s.value)}
          title="To the start (Home)"
        >
          <Icon name="first" />
          <span class="pk-sr">To the start</span>
        </button>
        <button
          type="button"
          class="pk-button"
          onClick={jump(-1, "event")}
          disabled={!has(-1, "event")}
          title="Previous event (Left)"
        >
          <Icon name="previous" />
          <span class="pk-sr">Previous event</span>
        </button>
        {isMotionReduced.value ? null : (
          <button type="button" class="pk-button pk-play" onClick={() => clock.toggle()} title="Play or pause (Space)">
            <Icon name={isPlaying ? "pause" : "play"} />
            <span>{isPlaying ? "Pause" : "Play"}</span>
          </button>
        )}
        <button
          type="button"
          class="pk-button"
          onClick={jump(1, "event")}
          disabled={!has(1, "event")}
          title="Next event (Right)"
        >
          <Icon name="next" />
          <span class={isMotionReduced.value ? "" : "pk-sr"}>Next event</span>
        </button>
        {kinds.has("drop") && (
          <button
            type="button"
            class="pk-button pk-text"
            onClick={jump(1, "drop")}
            disabled={!has(1, "drop")}
            title="Next drop (Shift and Right)"
          >
            Next drop
          </button>
        )}
        {kinds.has("mark") && (
          <button
            type="button"
            class="pk-button pk-text"
            onClick={jump(1, "mark")}
            disabled={!has(1, "mark")}
            title="Next mark (m)"
          >
            Next mark
          </button>
        )}
      </fieldset>
      <label class="pk-slow" hidden={isMotionReduced.value}>
        <span>Slow motion</span>
        <input
          type="range"
          min={0}
          max={SLOWNESS.length - 1}
          step={1}
          value={place}
          onInput={event => {
            clock.choose(SLOWNESS[Number(event.currentTarget.value)] as number);
          }}
          aria-valuetext={`1 to ${slowness}: a second shows ${formatSpan(1 / slowness)}`}
        />
        <output class="pk-slow-text">
          <b>{formatSlowness(slowness)}</b> <span>1 s shows {formatSpan(1 / slowness)}</span>
        </output>
      </label>
      <output class="pk-time">{timeText(clock, text_s.value)}</output>
      <SeekBar clock={clock} />
    </div>
  );
}

function momentsOf(timelines: readonly Timeline[]): Set<Moment> {
  const found = new Set<Moment>();
  for (const timeline of timelines)
    for (const moment of ["drop", "mark"] as const)
      if (timeline.next(Number.NEGATIVE_INFINITY, moment) !== undefined) found.add(moment);
  return found;
}

const LANE = 34;
const STEPS = 1000;

function SeekBar({ clock }: { clock: Clock }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const theme = useTheme(box);
  const courses = useRef<{ key: unknown[]; courses: Course[] }>({ key: [], courses: [] });
  const text_s = useTextTime(clock);
  const first_s = clock.first_s.value;
  const last_s = clock.last_s.value;
  const timelines = clock.timelines.value;

  useDrawing(box, () => {
    const context = canvas.current?.getContext("2d");
    const look = theme.value;
    const wide = Math.floor(width.value / (look?.unit ?? 1));
    const time_s = clock.time_s.value;
    if (!canvas.current || !context || !look || wide === 0) return false;
    const from_s = clock.first_s.value;
    const to_s = clock.last_s.value;
    const shown = clock.timelines.value;
    const key = [shown, from_s, to_s, wide];
    if (key.some((part, place) => courses.current.key[place] !== part))
      courses.current = { key, courses: shown.map(timeline => timeline.course(from_s, to_s, wide)) };
    const ratio = Math.min(Math.max(devicePixelRatio || 1, 1), 2) * look.unit;
    const high = Math.max(shown.length, 1) * LANE;
    if (canvas.current.width !== Math.round(wide * ratio)) canvas.current.width = Math.round(wide * ratio);
    if (canvas.current.height !== Math.round(high * ratio)) canvas.current.height = Math.round(high * ratio);
    canvas.current.style.height = `${high * look.unit}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, wide, high);
    const x = to_s > from_s ? ((time_s - from_s) / (to_s - from_s)) * wide : 0;
    courses.current.courses.forEach((course, lane) => {
      const bottom = (lane + 1) * LANE - 4;
      const room = LANE - 16;
      for (const [start, end, alpha] of [
        [0, x, 0.6],
        [x, wide, 0.28],
      ] as const) {
        context.fillStyle = look.accent;
        context.globalAlpha = alpha;
        context.beginPath();
        for (let bucket = Math.floor(start); bucket < end; bucket += 1) {
          const level = ((course.levels[bucket] as number) / Math.max(course.peak, 1)) * room;
          if (level > 0) context.rect(bucket, bottom - Math.max(level, 1), 1, Math.max(level, 1));
        }
        context.fill();
      }
      context.globalAlpha = 1;
      context.fillStyle = look.line;
      context.fillRect(0, bottom, wide, 1);
      context.fillStyle = look.stop;
      context.beginPath();
      let last = -9;
      for (let bucket = 0; bucket < wide; bucket += 1) {
        if (course.drops[bucket] === 0 || bucket - last < 3) continue;
        last = bucket;
        context.moveTo(bucket - 2.5, bottom + 4);
        context.lineTo(bucket + 2.5, bottom + 4);
        context.lineTo(bucket, bottom);
      }
      context.fill();
      context.font = `10px ${look.font}`;
      context.textBaseline = "top";
      const label = shown.length > 1 ? `${shown[lane]?.label}: ` : "";
      const text = `${label}up to ${formatCount(course.peak)} ${course.peak === 1 ? course.unit.replace("packets", "packet") : course.unit}`;
      const textWidth = context.measureText(text).width;
      context.fillStyle = look.panel;
      context.globalAlpha = 0.75;
      context.fillRect(2, lane * LANE, textWidth + 6, 13);
      context.globalAlpha = 1;
      context.fillStyle = look.soft;
      context.fillText(text, 5, lane * LANE + 2);
    });
    context.fillStyle = look.ink;
    context.fillRect(Math.min(Math.max(Math.round(x) - 1, 0), wide - 2), 0, 2, high);
    context.beginPath();
    context.moveTo(x - 5, 0);
    context.lineTo(x + 5, 0);
    context.lineTo(x, 6);
    context.fill();
    return false;
  });

  const span_s = last_s - first_s;
  return (
    <div class="pk-seek" ref={box}>
      <canvas ref={canvas} />
      <input
        type="range"
        aria-label="Time"
        min={0}
        max={STEPS}
        step="any"
        value={span_s > 0 ? ((text_s.value - first_s) / span_s) * STEPS : 0}
        aria-valuetext={timeText(clock, text_s.value)}
        disabled={timelines.length === 0}
        onInput={event => {
          clock.seek(first_s + (Number(event.currentTarget.value) / STEPS) * span_s);
        }}
        onKeyDown={event => {
          const steps = { PageUp: 50, PageDown: -50, ArrowUp: 1, ArrowDown: -1 }[event.key];
          if (steps !== undefined) clock.seek(clock.time_s.value + (steps / STEPS) * span_s);
          const isHandled = steps !== undefined || (event.key !== "Tab" && handleKey(clock, event));
          if (isHandled) {
            event.preventDefault();
            event.stopPropagation();
          }
        }}
      />
    </div>
  );
}
