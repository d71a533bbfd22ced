// The VOQs of a crossbar and its matching in each phase.

import { useMemo, useRef } from "preact/hooks";
import type { CrossbarLog } from "../engine/protocol";
import { type Clock, nearest } from "./clock";
import { CrossbarScene } from "./crossbar-scene";
import { Picture, TableOnDemand, ViewFrame } from "./frame";
import { useClock, useDrawing, useSame, useTextTime, useTheme, useTimelines, useWidth } from "./hooks";
import { LiveText } from "./live-text";
import { CrossbarModel } from "./model/crossbar";
import { formatCount, plural } from "./model/format";
import { timeText } from "./playback";
import { SavePicture } from "./save-picture";
import { isMotionReduced } from "./theme";
import "./packets.css";

export interface CrossbarRun {
  label: string;
  log: CrossbarLog;
}

export interface CrossbarViewProps {
  /** One log, or several on one clock: the crossbars of a run, or of a comparison. */
  log?: CrossbarLog | undefined;
  runs?: readonly CrossbarRun[] | undefined;
  clock?: Clock | undefined;
  /** Whether the view has the controls of the clock; the default is true without `clock`. */
  hasControls?: boolean | undefined;
}

/** The time that a phase takes at first. */
const FIRST_PHASE_S = 1;
/** Phases that take less time flicker: means over a longer time are shown. */
const FAST_PHASE_S = 0.12;
const MEAN_S = 0.5;
/** Tables of more ports list the longest VOQs. */
const MOST_TABLE_PORTS = 16;
const MOST_LISTED = 24;

export function CrossbarView(props: CrossbarViewProps) {
  const { log, runs } = props;
  const clock = useClock(props.clock);
  const shown = useSame(runs ?? (log ? [{ label: log.node, log }] : []), run => [run.label, run.log]);
  const models = useMemo(() => shown.map(run => new CrossbarModel(run.log, run.label)), [shown]);
  const timelines = useMemo(() => models.filter(model => model.phaseCount > 0), [models]);
  const pace = useMemo(() => paceOf(timelines), [timelines]);
  useTimelines(clock, timelines, pace);
  const hasControls = props.hasControls ?? props.clock === undefined;
  if (models.length === 0) return <p class="pk pk-empty">No crossbar was recorded.</p>;
  return (
    <ViewFrame
      label="Crossbar"
      keys="Space plays and pauses, Left and Right step to the previous and next phase, Plus and Minus change the speed."
      clock={clock}
      hasControls={hasControls}
    >
      <p class="pk-note">
        A row is an input, a column is an output; a stronger color means that more waits. A frame and a line show to
        which output this phase matches an input. An empty circle has no match.
      </p>
      {models.map((model, place) => (
        <Crossbar key={place} model={model} clock={clock} hasLabel={models.length > 1} />
      ))}
      <LiveText
        clock={clock}
        text={time_s =>
          models.map(model => `${models.length > 1 ? `${model.label}: ` : ""}${phaseText(model, time_s)}.`).join(" ")
        }
      />
    </ViewFrame>
  );
}

function Crossbar({ model, clock, hasLabel }: { model: CrossbarModel; clock: Clock; hasLabel: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scene = useRef<CrossbarScene | undefined>(undefined);
  const drawn = useRef<unknown[]>([]);
  const width = useWidth(box);
  const theme = useTheme(box);
  const text_s = useTextTime(clock);

  useDrawing(box, () => {
    const look = theme.value;
    const wide = width.value;
    const time_s = clock.time_s.value;
    if (!canvas.current || !look || wide === 0) return false;
    scene.current ??= new CrossbarScene(canvas.current);
    const inputs = [model, look, wide];
    if (inputs.some((input, place) => drawn.current[place] !== input)) {
      scene.current.prepare(model, look, wide);
      drawn.current = inputs;
    }
    const phase = model.phaseAt(time_s);
    const slowness = clock.slowness.value;
    const phase_s = (model.last_s - model.first_s) / Math.max(model.phaseCount - 1, 1);
    const isFast = clock.isPlaying.value && phase_s * slowness < FAST_PHASE_S;
    const from = isFast ? (model.phaseAt(time_s - MEAN_S / slowness) ?? 0) : undefined;
    scene.current.draw(phase, isMotionReduced.value ? 0 : partOf(model, phase, time_s), from);
    return false;
  });

  const tipAt = (x: number, y: number) => {
    const voq = scene.current?.find(x, y);
    const phase = model.phaseAt(clock.time_s.peek());
    if (!voq || phase === undefined) return undefined;
    const { input, output } = voq;
    const isMatched = model.match(phase, input) === output;
    const waiting = formatCount(model.length(phase, input, output));
    return `input ${input + 1} to output ${output + 1}: ${waiting} in the VOQ${isMatched ? ", matched" : ""}`;
  };

  return (
    <div class="pk-queue">
      {hasLabel && <h4 class="pk-label">{model.label}</h4>}
      <Picture
        {...{ box, canvas, tipAt }}
        label={`Picture of the crossbar ${model.label}; the text below describes it`}
      />
      <p class="pk-state">
        <b class="pk-clock">t = {timeText(clock, text_s.value)}:</b> {phaseText(model, text_s.value)}.
      </p>
      {model.log.is_cut && (
        <p class="pk-note">
          The log was full at {timeText(clock, model.last_s)}: it has the first {formatCount(model.phaseCount)} phases.
        </p>
      )}
      <div class="pk-tools">
        <TableOnDemand
          of={`the VOQs of ${model.label}`}
          table={() => <VoqTable model={model} phase={model.phaseAt(text_s.value)} />}
        />
        <SavePicture canvas={canvas} name={model.label} clock={clock} />
      </div>
    </div>
  );
}

function VoqTable({ model, phase }: { model: CrossbarModel; phase: number | undefined }) {
  if (phase === undefined) return <p class="pk-note">No phase yet.</p>;
  const { inputs, outputs } = model.log;
  const isSmall = inputs <= MOST_TABLE_PORTS && outputs <= MOST_TABLE_PORTS;
  return (
    <section
      class="pk-scroll"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls needs the focus.
      tabIndex={0}
      aria-label={`VOQs of ${model.label}`}
    >
      {isSmall ? (
        <table>
          <caption class="pk-sr">Length of each VOQ; a matched one is followed by an arrow</caption>
          <thead>
            <tr>
              <th scope="col">Input</th>
              {Array.from({ length: outputs }, (_, output) => (
                <th scope="col" class="pk-number" key={output}>
                  out {output + 1}
                </th>
              ))}
              <th scope="col" class="pk-number">
                All
              </th>
              <th scope="col">Matched to</th>
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: inputs }, (_, input) => {
              const match = model.match(phase, input);
              return (
                <tr key={input}>
                  <th scope="row">in {input + 1}</th>
                  {Array.from({ length: outputs }, (_, output) => (
                    <td class="pk-number" key={output}>
                      {match === output ? (
                        <b>{model.length(phase, input, output)} →</b>
                      ) : (
                        model.length(phase, input, output)
                      )}
                    </td>
                  ))}
                  <td class="pk-number">{model.inputBacklog(phase, input)}</td>
                  <td>{match === undefined ? "none" : `out ${match + 1}`}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      ) : (
        <table>
          <caption>The longest VOQs</caption>
          <thead>
            <tr>
              <th scope="col">Input</th>
              <th scope="col">Output</th>
              <th scope="col" class="pk-number">
                Length
              </th>
              <th scope="col">Matched</th>
            </tr>
          </thead>
          <tbody>
            {model.longest(phase, MOST_LISTED).map(({ input, output, length }) => (
              <tr key={`${input}-${output}`}>
                <td>in {input + 1}</td>
                <td>out {output + 1}</td>
                <td class="pk-number">{length}</td>
                <td>{model.match(phase, input) === output ? "yes" : "no"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function partOf(model: CrossbarModel, phase: number | undefined, time_s: number): number {
  if (phase === undefined) return 0;
  const start_s = model.log.times_s[phase] as number;
  const end_s = model.log.times_s[phase + 1];
  return end_s === undefined || end_s <= start_s ? 0 : (time_s - start_s) / (end_s - start_s);
}

function phaseText(model: CrossbarModel, time_s: number): string {
  const phase = model.phaseAt(time_s);
  if (phase === undefined) return "before the first phase";
  if (model.log.is_cut && time_s > model.last_s) return "the log was full before this time";
  const { inputs } = model.log;
  const matched = model.matched(phase);
  const pairs: string[] = [];
  for (let input = 0; input < inputs && pairs.length < 8; input += 1) {
    const output = model.match(phase, input);
    if (output !== undefined) pairs.push(`${input + 1}→${output + 1}`);
  }
  const more = matched - pairs.length;
  const parts = [
    `phase ${formatCount(phase + 1)} of ${formatCount(model.phaseCount)}`,
    `${matched} of ${plural(inputs, "input")} matched${matched > 0 ? `: ${pairs.join(", ")}` : ""}${more > 0 ? ` and ${more} more` : ""}`,
    `${formatCount(model.backlog(phase))} in all VOQs`,
  ];
  const [longest] = model.longest(phase, 1);
  if (longest) parts.push(`longest: input ${longest.input + 1} to output ${longest.output + 1} with ${longest.length}`);
  return parts.join("; ");
}

function paceOf(models: readonly CrossbarModel[]): { slowness: number; resolution_s: number } | undefined {
  const spans = models
    .filter(model => model.phaseCount > 1)
    .map(model => (model.last_s - model.first_s) / (model.phaseCount - 1));
  if (spans.length === 0) return undefined;
  const span_s = Math.max(Math.min(...spans), 1e-9);
  return { slowness: nearest(FIRST_PHASE_S / span_s), resolution_s: span_s / 10 };
}
