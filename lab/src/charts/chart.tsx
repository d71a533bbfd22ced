// A chart: title, plot, legend, table and files.

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./charts.css";
import { csvOf } from "./csv";
import { download, filePart } from "./download";
import { pngOf, svgOf } from "./drawing";
import { bandKinds, type ChartModel, largestOf, sampledRows, zoomed } from "./model";
import { inksOf, lookOf } from "./palette";
import { ScrollBox } from "./scroll-box";
import { logTicksOf } from "./ticks";
import { numberText, scaleOf, textWithUnit, titleOf } from "./units";

/** The state that charts share: zoom, hidden lines and the cursor. */
export interface ChartView {
  zoom: Signal<[number, number] | undefined>;
  hidden: Signal<ReadonlySet<string>>;
  /** Charts with equal keys have a common cursor. */
  syncKey: string;
  isDark: Signal<boolean>;
}

export interface ChartProps {
  model: ChartModel;
  view: ChartView;
  /** Named in files and for screen readers: the discipline of a comparison. */
  context?: string | undefined;
  /** A choice in the head of the chart. */
  control?: ComponentChildren;
}

const MOST_TABLE_ROWS = 60;

export function Chart({ model, view, context, control }: ChartProps) {
  const cursor = useSignal<number | undefined>(undefined);
  const id = useId();
  const isOpen = useSignal(false);
  const top = model.yMax ?? largestOf(model.lines);
  const scale = scaleOf(model.yQuantity, top);
  const title = context ? `${model.title}, ${context}` : model.title;
  const range = view.zoom.value ?? model.xRange;
  const save = async (kind: "csv" | "png" | "svg") => {
    const named = { ...model, title };
    const name = `${filePart(title)}.${kind}`;
    if (kind === "csv") {
      download(name, csvOf(model), "text/csv");
    } else if (kind === "svg") {
      download(name, svgOf(named, view.hidden.value, range), "image/svg+xml");
    } else {
      download(name, await pngOf(named, view.hidden.value, range));
    }
  };
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>
        <span class="chart-title" title={model.hint}>
          {model.title}
        </span>
        {scale.unit && <span class="chart-unit">{scale.unit}</span>}
        {context && <span class="chart-context">{context}</span>}
        <CursorText model={model} cursor={cursor} />
      </figcaption>
      {control}
      <Plot model={model} view={view} cursor={cursor} label={title} />
      <Legend model={model} view={view} cursor={cursor} divisor={scale.divisor} />
      <BandKinds model={model} />
      {model.note && <p class="chart-note">{model.note}</p>}
      <div class="chart-tools">
        <details onToggle={event => (isOpen.value = event.currentTarget.open)}>
          <summary>
            Table<span class="sr-only"> of {title}</span>
          </summary>
          {isOpen.value && <DataTable model={model} title={title} />}
        </details>
        <span class="chart-files">
          {(["csv", "png", "svg"] as const).map(kind => (
            <button
              type="button"
              key={kind}
              onClick={() => save(kind)}
              aria-label={`Save ${title} as ${kind.toUpperCase()}`}
            >
              {kind.toUpperCase()}
            </button>
          ))}
        </span>
      </div>
    </figure>
  );
}

interface CursorProps {
  model: ChartModel;
  cursor: Signal<number | undefined>;
}

function CursorText({ model, cursor }: CursorProps) {
  const at = cursor.value === undefined ? undefined : model.xs[cursor.value];
  if (at !== undefined) {
    return <span class="chart-cursor">{textWithUnit(model.xQuantity, at, 4)}</span>;
  }
  return <span class="chart-cursor">{model.xQuantity === "time_s" && model.lines.length > 0 ? "mean" : ""}</span>;
}

function Legend({ model, view, cursor, divisor }: CursorProps & { view: ChartView; divisor: number }) {
  const hidden = view.hidden.value;
  const toggle = (key: string, isAlone: boolean) => {
    const keys = model.lines.map(it => it.key);
    const next = new Set(hidden);
    if (isAlone) {
      const others = keys.filter(it => it !== key);
      const areHidden = others.every(it => hidden.has(it)) && !hidden.has(key);
      for (const it of others) {
        areHidden ? next.delete(it) : next.add(it);
      }
      next.delete(key);
    } else if (!next.delete(key)) {
      next.add(key);
    }
    view.hidden.value = next;
  };
  if (model.lines.length === 0) {
    return null;
  }
  return (
    <ul class="legend">
      {model.lines.map(line => {
        const look = lookOf(line.look, view.isDark.value);
        const value = cursor.value === undefined ? meanOf(model, line.values) : line.values[cursor.value];
        return (
          <li key={line.key}>
            <button
              type="button"
              aria-pressed={!hidden.has(line.key)}
              title="Hide or show; with Shift: show it alone"
              onClick={event => toggle(line.key, event.shiftKey)}
            >
              <svg class="legend-line" width="16" height="8" aria-hidden="true">
                <line
                  x1="0"
                  y1="4"
                  x2="16"
                  y2="4"
                  stroke={look.color}
                  stroke-width="2.5"
                  stroke-dasharray={look.dash.join(" ")}
                />
              </svg>
              <span class="legend-name">{line.label}</span>
              <span class="legend-value">
                {value === undefined || Number.isNaN(value) ? "" : numberText(value / divisor, 3)}
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

/** The meaning of the bands. */
function BandKinds({ model }: { model: ChartModel }) {
  const kinds = bandKinds(model.bands);
  if (kinds.length === 0) {
    return null;
  }
  return (
    <ul class="band-kinds" aria-label="Bands">
      {kinds.map(({ label, color }) => (
        <li key={label}>
          <svg width="12" height="12" aria-hidden="true">
            <rect width="12" height="12" fill={color} fill-opacity="0.35" />
          </svg>
          {label}
        </li>
      ))}
    </ul>
  );
}

/** The mean over the measured time; of a distribution there is none. */
function meanOf(model: ChartModel, values: Float64Array): number | undefined {
  if (model.xQuantity !== "time_s") {
    return undefined;
  }
  let sum = 0;
  let count = 0;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i] as number;
    if ((model.xs[i] as number) > model.shadedTo && !Number.isNaN(value)) {
      sum += value;
      count += 1;
    }
  }
  return count > 0 ? sum / count : undefined;
}

/** The values of a chart. Of very many times, some at equal distances. */
function DataTable({ model, title }: { model: ChartModel; title: string }) {
  const x = scaleOf(model.xQuantity, model.xRange[1]);
  const y = scaleOf(model.yQuantity, model.yMax ?? largestOf(model.lines));
  const rows = sampledRows(model.xs.length, MOST_TABLE_ROWS);
  const left = model.xs.length - rows.length;
  return (
    <ScrollBox label={`Values of ${title}`}>
      <table>
        <caption>
          {titleOf(model.yQuantity)}
          {y.unit && ` in ${y.unit}`}
          {model.hint && `: ${model.hint}`}
          {left > 0 && `; ${rows.length} of ${model.xs.length} rows`}
        </caption>
        <thead>
          <tr>
            <th scope="col">
              {titleOf(model.xQuantity)} ({x.unit})
            </th>
            {model.lines.map(line => (
              <th scope="col" key={line.key}>
                {line.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row}>
              <th scope="row">{numberText((model.xs[row] as number) / x.divisor)}</th>
              {model.lines.map(line => (
                <td key={line.key}>{numberText((line.values[row] as number) / y.divisor)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

/** Values with null for those that are missing, as uPlot takes them. */
function withGaps(values: Float64Array): Float64Array | (number | null)[] {
  return values.some(Number.isNaN) ? Array.from(values, it => (Number.isNaN(it) ? null : it)) : values;
}

function dataOf(model: ChartModel): uPlot.AlignedData {
  return [model.xs, ...model.lines.map(it => withGaps(it.values))] as uPlot.AlignedData;
}

/** Equal for models that the same uPlot can draw. */
function shapeOf(model: ChartModel, isDark: boolean): string {
  const lines = model.lines.map(it => [it.key, it.look, it.width]);
  return JSON.stringify([lines, model.xIsLog, model.isStepped, isDark]);
}

interface PlotProps extends CursorProps {
  view: ChartView;
  label: string;
}

function Plot({ model, view, cursor, label }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(model);
  latest.current = model;
  const spoken = useSignal("");
  const isDark = view.isDark.value;
  const shape = shapeOf(model, isDark);

  useEffect(() => {
    const element = place.current;
    if (!element) {
      return;
    }
    const made = new uPlot(optionsOf(latest, view, cursor, element, isDark), dataOf(latest.current), element);
    plot.current = made;
    const stopTouch = followTouch(made, view, latest);
    const observer = new ResizeObserver(() => {
      const { width, height } = sizeOf(element);
      if (width !== made.width || height !== made.height) {
        made.setSize({ width, height });
      }
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      stopTouch();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape, view]);

  const zoom = view.zoom.value;
  const hidden = view.hidden.value;
  useEffect(() => {
    const made = plot.current;
    if (!made) {
      return;
    }
    made.batch(() => {
      model.lines.forEach((line, i) => {
        const show = !hidden.has(line.key);
        if (made.series[i + 1]?.show !== show) {
          made.setSeries(i + 1, { show });
        }
      });
      made.setData(dataOf(model), true);
    });
  }, [model, zoom, hidden, shape]);

  const onKeyDown = (event: KeyboardEvent) => {
    const made = plot.current;
    const last = model.xs.length - 1;
    if (!made || last < 0 || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const [from, to] = zoom ?? model.xRange;
    const step = (event.shiftKey ? 10 : 1) * Math.max(1, Math.round((made.valToIdx(to) - made.valToIdx(from)) / 200));
    const now = cursor.value ?? made.valToIdx((from + to) / 2);
    const moves: Record<string, number> = {
      ArrowLeft: now - step,
      ArrowRight: now + step,
      Home: made.valToIdx(from),
      End: made.valToIdx(to),
    };
    const target = moves[event.key];
    if (target !== undefined) {
      const index = Math.min(Math.max(target, 0), last);
      const x = model.xs[index] as number;
      moveCursor(view, x);
      cursor.value = index;
      const values = model.lines
        .filter(it => !hidden.has(it.key))
        .map(it => `${it.label} ${textWithUnit(model.yQuantity, it.values[index] as number)}`);
      spoken.value = `${textWithUnit(model.xQuantity, x, 4)}: ${values.join(", ")}`;
    } else if (event.key === "+" || event.key === "=" || event.key === "-") {
      const factor = event.key === "-" ? 2 : 0.5;
      view.zoom.value = zoomed([from, to], model.xs[now] ?? from, factor, model.xRange);
    } else if (event.key === "0" || event.key === "Escape") {
      view.zoom.value = undefined;
    } else {
      return;
    }
    event.preventDefault();
  };
  const hint = `${label}. Arrow keys move the cursor, plus and minus zoom, zero shows all. A table is below.`;
  return (
    <div class="plot-frame">
      {/* biome-ignore lint/a11y/useSemanticElements: a chart is no set of form fields */}
      <div
        class="plot"
        ref={place}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard moves the cursor
        tabIndex={0}
        role="group"
        aria-roledescription="chart"
        aria-label={hint}
        onKeyDown={onKeyDown}
      />
      {model.lines.length === 0 && <p class="plot-empty">No data yet</p>}
      <output class="sr-only">{spoken.value}</output>
    </div>
  );
}

function sizeOf(element: HTMLElement): { width: number; height: number } {
  return { width: Math.max(element.clientWidth, 40), height: Math.max(element.clientHeight, 40) };
}

function optionsOf(
  latest: { current: ChartModel },
  view: ChartView,
  cursor: Signal<number | undefined>,
  element: HTMLElement,
  isDark: boolean,
): uPlot.Options {
  const model = latest.current;
  const inks = inksOf(isDark);
  // uPlot scales only whole numbers of pixels to the density of the screen.
  const em = Math.round(Number.parseFloat(getComputedStyle(element).fontSize) || 12);
  const font = `${em}px system-ui, sans-serif`;
  const axis: uPlot.Axis = {
    stroke: inks.soft,
    font,
    grid: { stroke: inks.grid, width: 1 },
    ticks: { show: false },
    gap: 5,
  };
  const paths = model.isStepped ? uPlot.paths.stepped?.({ align: 1 }) : uPlot.paths.linear?.();
  return {
    ...sizeOf(element),
    legend: { show: false },
    padding: [6, em * 2.2, 0, 0],
    scales: {
      x: {
        time: false,
        distr: model.xIsLog ? 3 : 1,
        range: () => view.zoom.peek() ?? latest.current.xRange,
      },
      y: {
        range: (_, least) => {
          const top = latest.current.yMax ?? largestOf(latest.current.lines);
          return [Math.min(0, least ?? 0), (latest.current.yQuantity === "share_of_packets" ? 1.01 : 1.06) * top || 1];
        },
      },
    },
    axes: [
      {
        ...axis,
        size: em * 1.9,
        space: em * 6,
        ...(model.xIsLog ? { splits: (_, __, from, to) => logTicksOf(from, to), filter: (_, splits) => splits } : {}),
        values: (_, splits) => {
          const scale = scaleOf(latest.current.xQuantity, latest.current.xRange[1]);
          const known = splits.map(it => (it === null ? "" : numberText(it / scale.divisor)));
          const last = known.findLastIndex(it => it !== "");
          return known.map((it, i) => (i === last ? `${it} ${scale.unit}` : it));
        },
      },
      {
        ...axis,
        space: em * 2.6,
        size: (_, values) => Math.ceil(Math.max(3, ...(values ?? []).map(it => it.length)) * em * 0.58 + 12),
        values: (_, splits) => {
          const top = latest.current.yMax ?? largestOf(latest.current.lines);
          const { divisor } = scaleOf(latest.current.yQuantity, top);
          return splits.map(it => numberText(it / divisor));
        },
      },
    ],
    cursor: {
      sync: { key: view.syncKey, scales: ["x", null] },
      drag: { x: true, y: false, setScale: false },
      y: false,
      points: { size: 6, width: 1.5 },
    },
    series: [
      {},
      ...model.lines.map((line): uPlot.Series => {
        const look = lookOf(line.look, isDark);
        return {
          stroke: look.color,
          width: line.width ?? 1.5,
          dash: look.dash,
          points: { show: false },
          show: !view.hidden.peek().has(line.key),
          ...(paths ? { paths } : {}),
        };
      }),
    ],
    hooks: {
      drawClear: [plot => paintBands(plot, latest.current, inks.shade)],
      draw: [plot => fadeTheRest(plot, latest.current, inks.paper, inks.soft)],
      setCursor: [
        plot => {
          const index = plot.cursor.idx ?? undefined;
          cursor.value = (plot.cursor.left ?? -1) < 0 ? undefined : index;
        },
      ],
      setSelect: [
        plot => {
          const { left, width } = plot.select;
          if (width > 4) {
            const zoom: [number, number] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            view.zoom.value = zoom;
          }
        },
      ],
      ready: [
        plot => {
          plot.over.addEventListener("dblclick", () => {
            view.zoom.value = undefined;
          });
        },
      ],
    },
  };
}

function paintBands(plot: uPlot, model: ChartModel, shade: string): void {
  const { ctx, bbox } = plot;
  const paint = (from: number, to: number, color: string, alpha: number) => {
    const left = Math.max(plot.valToPos(from, "x", true), bbox.left);
    const right = Math.min(plot.valToPos(to, "x", true), bbox.left + bbox.width);
    if (right > left) {
      ctx.save();
      ctx.globalAlpha = alpha;
      ctx.fillStyle = color;
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.restore();
    }
  };
  if (model.shadedTo > 0) {
    paint(0, model.shadedTo, shade, 1);
  }
  for (const band of model.bands) {
    paint(band.from, band.to, band.color, 0.22);
  }
}

/** Fades what is of the run before, behind a line at the time that this run reached. */
function fadeTheRest(plot: uPlot, model: ChartModel, paper: string, ink: string): void {
  if (model.front === undefined) {
    return;
  }
  const { ctx, bbox } = plot;
  const right = bbox.left + bbox.width;
  const left = Math.min(Math.max(plot.valToPos(model.front, "x", true), bbox.left), right);
  ctx.save();
  ctx.globalAlpha = 0.72;
  ctx.fillStyle = paper;
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.globalAlpha = 0.5;
  ctx.fillStyle = ink;
  ctx.fillRect(left, bbox.top, Math.max(1, devicePixelRatio), bbox.height);
  ctx.restore();
}

/** Moves the common cursor to a place on the x axis. */
function moveCursor(view: ChartView, x: number): void {
  for (const plot of uPlot.sync(view.syncKey).plots) {
    plot.setCursor({ left: plot.valToPos(x, "x"), top: plot.over.clientHeight / 2 });
  }
}

/** One finger moves the cursor, two zoom. Vertical movements of one finger scroll the page. */
function followTouch(plot: uPlot, view: ChartView, latest: { current: ChartModel }): () => void {
  const { over } = plot;
  const fingers = new Map<number, number>();
  let pinch: { distance: number; center: number; range: [number, number] } | undefined;
  const distance = () => {
    const [a = 0, b = 0] = [...fingers.values()];
    return Math.max(10, Math.abs(a - b));
  };
  const down = (event: PointerEvent) => {
    if (event.pointerType === "touch") {
      fingers.set(event.pointerId, event.clientX);
      if (fingers.size === 2) {
        const [a = 0, b = 0] = [...fingers.values()];
        const center = plot.posToVal((a + b) / 2 - over.getBoundingClientRect().left, "x");
        pinch = { distance: distance(), center, range: view.zoom.peek() ?? latest.current.xRange };
      }
    }
  };
  const move = (event: PointerEvent) => {
    if (event.pointerType !== "touch") {
      return;
    }
    const box = over.getBoundingClientRect();
    if (pinch && fingers.has(event.pointerId)) {
      fingers.set(event.pointerId, event.clientX);
      view.zoom.value = zoomed(pinch.range, pinch.center, pinch.distance / distance(), latest.current.xRange);
    } else {
      moveCursor(view, plot.posToVal(event.clientX - box.left, "x"));
    }
  };
  const up = (event: PointerEvent) => {
    fingers.delete(event.pointerId);
    pinch = fingers.size < 2 ? undefined : pinch;
  };
  over.addEventListener("pointerdown", down);
  over.addEventListener("pointermove", move);
  over.addEventListener("pointerup", up);
  over.addEventListener("pointercancel", up);
  return () => {
    over.removeEventListener("pointerdown", down);
    over.removeEventListener("pointermove", move);
    over.removeEventListener("pointerup", up);
    over.removeEventListener("pointercancel", up);
  };
}
