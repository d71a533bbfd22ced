// A chart as a picture for papers and slides: drawn with a pen that writes SVG or paints on a canvas.

import { bandKinds, type ChartModel, largestOf } from "./model";
import { inksOf, lookOf } from "./palette";
import { logTicksOf, ticksOf } from "./ticks";
import { numberText, scaleOf, titleOf } from "./units";

export type Point = [x: number, y: number];

export interface TextStyle {
  anchor: "start" | "middle" | "end";
  color: string;
  size: number;
  isBold?: boolean;
  /** Written from bottom to top. */
  isUpright?: boolean;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Pen {
  rectangle(box: Box, color: string, opacity: number): void;
  /** Draws each part of a line within a box. */
  polyline(parts: Point[][], within: Box, color: string, width: number, dash: number[]): void;
  text(at: Point, text: string, style: TextStyle): void;
}

const WIDTH = 720;
const HEIGHT = 400;
const FONT = "system-ui, sans-serif";
const MOST_POINTS = 4 * WIDTH;

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, letter => `&#${letter.charCodeAt(0)};`);
}

const short = (value: number) => String(Math.round(value * 100) / 100);

/** Writes SVG. Texts stay texts; names are escaped. */
class SvgPen implements Pen {
  readonly #parts: string[] = [];
  #clips = 0;

  rectangle(box: Box, color: string, opacity: number): void {
    this.#parts.push(
      `<rect x="${short(box.x)}" y="${short(box.y)}" width="${short(box.width)}" height="${short(box.height)}"` +
        ` fill="${color}" fill-opacity="${opacity}"/>`,
    );
  }

  polyline(parts: Point[][], within: Box, color: string, width: number, dash: number[]): void {
    const path = parts
      .map(part => part.map(([x, y], i) => `${i === 0 ? "M" : "L"}${short(x)} ${short(y)}`).join(""))
      .join("");
    this.#clips += 1;
    const box = `x="${short(within.x)}" y="${short(within.y)}" width="${short(within.width)}" height="${short(within.height)}"`;
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.#parts.push(
      `<clipPath id="c${this.#clips}"><rect ${box}/></clipPath>`,
      `<path clip-path="url(#c${this.#clips})" d="${path}" fill="none" stroke="${color}" stroke-width="${width}"` +
        ` stroke-linejoin="round"${dashes}/>`,
    );
  }

  text(at: Point, text: string, style: TextStyle): void {
    const [x, y] = at.map(short) as [string, string];
    const turn = style.isUpright ? ` transform="rotate(-90 ${x} ${y})"` : "";
    const weight = style.isBold ? ' font-weight="600"' : "";
    this.#parts.push(
      `<text x="${x}" y="${y}" text-anchor="${style.anchor}" fill="${style.color}"` +
        ` font-size="${style.size}"${weight}${turn}>${escaped(text)}</text>`,
    );
  }

  document(width: number, height: number): string {
    const head =
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="${FONT}">`;
    return `${head}\n${this.#parts.join("\n")}\n</svg>\n`;
  }
}

/** Paints on a canvas. */
class CanvasPen implements Pen {
  readonly #context: CanvasRenderingContext2D;

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  rectangle(box: Box, color: string, opacity: number): void {
    this.#context.globalAlpha = opacity;
    this.#context.fillStyle = color;
    this.#context.fillRect(box.x, box.y, box.width, box.height);
    this.#context.globalAlpha = 1;
  }

  polyline(parts: Point[][], within: Box, color: string, width: number, dash: number[]): void {
    const context = this.#context;
    context.save();
    context.beginPath();
    context.rect(within.x, within.y, within.width, within.height);
    context.clip();
    context.beginPath();
    for (const part of parts) {
      part.forEach(([x, y], i) => {
        if (i === 0) {
          context.moveTo(x, y);
        } else {
          context.lineTo(x, y);
        }
      });
    }
    context.strokeStyle = color;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.setLineDash(dash);
    context.stroke();
    context.restore();
  }

  text(at: Point, text: string, style: TextStyle): void {
    const context = this.#context;
    context.save();
    context.font = `${style.isBold ? "600 " : ""}${style.size}px ${FONT}`;
    context.fillStyle = style.color;
    context.textAlign = style.anchor === "middle" ? "center" : style.anchor;
    context.translate(...at);
    if (style.isUpright) {
      context.rotate(-Math.PI / 2);
    }
    context.fillText(text, 0, 0);
    context.restore();
  }
}

/** Draws the chart, and returns its height. Pictures are light: they go into papers. */
export function draw(model: ChartModel, hidden: ReadonlySet<string>, view: [number, number], pen: Pen): number {
  const inks = inksOf(false);
  const lines = model.lines.filter(it => !hidden.has(it.key));
  const kinds = bandKinds(model.bands);
  const rows = legendRows([...lines, ...kinds].map(it => it.label));
  const height = HEIGHT + 20 * rows.length;
  const box: Box = { x: 74, y: 40, width: WIDTH - 74 - 18, height: HEIGHT - 40 - 48 };
  const [from, to] = view;
  const top = (model.yMax ?? largestOf(lines) * 1.05) || 1;
  const bottom = Math.min(0, ...lines.map(it => smallestOf(it.values)));
  const place = model.xIsLog
    ? (x: number) => box.x + (Math.log(x / from) / Math.log(to / from)) * box.width
    : (x: number) => box.x + ((x - from) / (to - from)) * box.width;
  const level = (y: number) => box.y + box.height - ((y - bottom) / (top - bottom)) * box.height;
  const frame: Box = { x: 0, y: 0, width: WIDTH, height };
  pen.rectangle(frame, inks.paper, 1);
  pen.text([box.x, 24], model.title, { anchor: "start", color: inks.ink, size: 15, isBold: true });
  const within = (x: number) => Math.min(Math.max(place(x), box.x), box.x + box.width);
  if (model.shadedTo > 0 && !model.xIsLog) {
    pen.rectangle({ ...box, x: within(0), width: within(model.shadedTo) - within(0) }, inks.soft, 0.08);
  }
  for (const band of model.bands) {
    pen.rectangle({ ...box, x: within(band.from), width: within(band.to) - within(band.from) }, band.color, 0.2);
  }
  const xScale = scaleOf(model.xQuantity, to);
  const yScale = scaleOf(model.yQuantity, top);
  for (const x of model.xIsLog ? logTicksOf(from, to) : scaledTicks(from, to, 8, xScale.divisor)) {
    pen.polyline([[[place(x), box.y] as Point, [place(x), box.y + box.height] as Point]], frame, inks.grid, 1, []);
    const label = numberText(x / xScale.divisor);
    pen.text([place(x), box.y + box.height + 18], label, { anchor: "middle", color: inks.soft, size: 12 });
  }
  for (const y of scaledTicks(bottom, top, 5, yScale.divisor)) {
    pen.polyline([[[box.x, level(y)] as Point, [box.x + box.width, level(y)] as Point]], frame, inks.grid, 1, []);
    const label = numberText(y / yScale.divisor);
    pen.text([box.x - 8, level(y) + 4], label, { anchor: "end", color: inks.soft, size: 12 });
  }
  const axis: Point[] = [
    [box.x, box.y],
    [box.x, box.y + box.height],
    [box.x + box.width, box.y + box.height],
  ];
  pen.polyline([axis], frame, inks.line, 1, []);
  const center = box.x + box.width / 2;
  const xLabel = labelOf(model.xQuantity, xScale.unit);
  pen.text([center, box.y + box.height + 40], xLabel, { anchor: "middle", color: inks.soft, size: 12 });
  const yLabel = labelOf(model.yQuantity, yScale.unit);
  pen.text([18, box.y + box.height / 2], yLabel, { anchor: "middle", color: inks.soft, size: 12, isUpright: true });
  for (const line of lines) {
    const look = lookOf(line.look, false);
    const parts = pathOf(model, line.values, place, level);
    pen.polyline(parts, box, look.color, line.width ?? 1.5, look.dash);
  }
  rows.forEach((row, i) => {
    for (const { index, x } of row) {
      const left = box.x + x;
      const y = HEIGHT + 8 + 20 * i;
      const line = lines[index];
      const kind = kinds[index - lines.length];
      if (line) {
        const look = lookOf(line.look, false);
        const sample: Point[] = [
          [left, y - 4],
          [left + 22, y - 4],
        ];
        pen.polyline([sample], frame, look.color, 2, look.dash);
      } else if (kind) {
        pen.rectangle({ x: left + 5, y: y - 10, width: 12, height: 12 }, kind.color, 0.35);
      }
      pen.text([left + 28, y], (line ?? kind)?.label ?? "", { anchor: "start", color: inks.ink, size: 12 });
    }
  });
  return height;
}

function labelOf(quantity: string, unit: string): string {
  return unit ? `${titleOf(quantity)} (${unit})` : titleOf(quantity);
}

function scaledTicks(from: number, to: number, count: number, divisor: number): number[] {
  return ticksOf(from / divisor, to / divisor, count).map(it => it * divisor);
}

function smallestOf(values: Float64Array): number {
  let smallest = 0;
  for (const value of values) {
    if (value < smallest) {
      smallest = value;
    }
  }
  return smallest;
}

/** The places of the legend's entries. Widths are estimates: an SVG cannot measure its fonts. */
function legendRows(labels: string[]): { index: number; x: number }[][] {
  const rows: { index: number; x: number }[][] = [];
  let x = Number.POSITIVE_INFINITY;
  labels.forEach((label, index) => {
    const width = 28 + 7 * label.length + 20;
    if (x + width > WIDTH - 92) {
      rows.push([]);
      x = 0;
    }
    rows.at(-1)?.push({ index, x });
    x += width;
  });
  return rows;
}

/** The parts of a line between its gaps. Of very many points, those that matter at this size. */
function pathOf(
  model: ChartModel,
  values: Float64Array,
  place: (x: number) => number,
  level: (y: number) => number,
): Point[][] {
  const parts: Point[][] = [];
  let part: Point[] | undefined;
  for (const i of thinned(values, MOST_POINTS)) {
    const value = values[i] as number;
    if (Number.isNaN(value)) {
      part = undefined;
      continue;
    }
    const x = place(model.xs[i] as number);
    const y = level(value);
    if (!part) {
      part = [];
      parts.push(part);
    }
    const before = part.at(-1);
    if (model.isStepped && before) {
      part.push([x, before[1]]);
    }
    part.push([x, y]);
  }
  return parts;
}

/** Indices of all values, or of the smallest and largest value of each stretch where there are more than `most`. */
export function thinned(values: Float64Array, most: number): number[] {
  if (values.length <= most) {
    return Array.from(values, (_, i) => i);
  }
  const stretch = Math.ceil((2 * values.length) / most);
  const kept: number[] = [];
  for (let start = 0; start < values.length; start += stretch) {
    let least = start;
    let largest = start;
    for (let i = start; i < Math.min(start + stretch, values.length); i += 1) {
      least = (values[i] as number) < (values[least] as number) ? i : least;
      largest = (values[i] as number) > (values[largest] as number) ? i : largest;
    }
    kept.push(Math.min(least, largest));
    if (least !== largest) {
      kept.push(Math.max(least, largest));
    }
  }
  return kept;
}

/** The chart as an SVG document. */
export function svgOf(model: ChartModel, hidden: ReadonlySet<string>, view: [number, number]): string {
  const pen = new SvgPen();
  const height = draw(model, hidden, view, pen);
  return pen.document(WIDTH, height);
}

/** The chart as a PNG file, with three pixels for each unit. */
export async function pngOf(model: ChartModel, hidden: ReadonlySet<string>, view: [number, number]): Promise<Blob> {
  const height = draw(model, hidden, view, new SvgPen());
  const canvas = document.createElement("canvas");
  const density = 3;
  canvas.width = WIDTH * density;
  canvas.height = height * density;
  const context = canvas.getContext("2d");
  if (!context) {
    throw new Error("this browser has no canvas");
  }
  context.scale(density, density);
  draw(model, hidden, view, new CanvasPen(context));
  return new Promise((resolve, reject) => {
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
  });
}
