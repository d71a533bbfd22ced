import type { CrossbarModel } from "./model/crossbar";
import { formatCount } from "./model/format";
import type { Theme } from "./theme";

interface CrossbarGeometry {
  width: number;
  height: number;
  left: number;
  top: number;
  cell: number;
  /** The bars of inputs begin at `bars`, and the connections run from `from` to `to`. */
  bars: number;
  barLength: number;
  from: number;
  to: number;
  bottom: number;
}

export interface Voq {
  input: number;
  output: number;
}

const TOP = 40;
const LEFT = 34;
const LARGEST_CELL = 44;
const MOST_HEIGHT = 480;
const BAR_ROOM = 46;
/** Means of more phases take every second, third, … one. */
const MOST_PHASES = 200;

export function arrangeCrossbar(width: number, inputs: number, outputs: number): CrossbarGeometry {
  const isNarrow = width < 520;
  const bars = isNarrow ? 30 : BAR_ROOM;
  const links = isNarrow ? 92 : Math.min(Math.max(width * 0.34, 140), 480);
  const cell = Math.max(
    Math.floor(Math.min(LARGEST_CELL, (width - LEFT - bars - links - 10) / outputs, MOST_HEIGHT / inputs)),
    3,
  );
  const grid = LEFT + cell * outputs;
  const bottom = TOP + cell * inputs;
  return {
    width,
    height: bottom + 44,
    left: LEFT,
    top: TOP,
    cell,
    bars: grid + 6,
    barLength: bars - 10,
    from: grid + bars + 12,
    to: Math.min(grid + bars + links, width) - 30,
    bottom,
  };
}

/** Draws a phase of a crossbar: the lengths of VOQs as a grid, and the matching as connections. */
export class CrossbarScene {
  geometry: CrossbarGeometry | undefined;
  private readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private model: CrossbarModel | undefined;
  private theme: Theme | undefined;
  private ratio = 1;
  /** The lengths and the shares of matchings that are drawn, by input, then output. */
  private lengths = new Float32Array(0);
  private shares = new Float32Array(0);

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d") as CanvasRenderingContext2D;
  }

  prepare(model: CrossbarModel, theme: Theme, width: number): void {
    this.model = model;
    this.theme = theme;
    const geometry = arrangeCrossbar(Math.floor(width / theme.unit), model.log.inputs, model.log.outputs);
    this.geometry = geometry;
    this.ratio = Math.min(Math.max(devicePixelRatio || 1, 1), 2) * theme.unit;
    this.canvas.width = Math.round(geometry.width * this.ratio);
    this.canvas.height = Math.round(geometry.height * this.ratio);
    this.canvas.style.height = `${geometry.height * theme.unit}px`;
  }

  /** The VOQ at a point in CSS pixels. */
  find(x: number, y: number): Voq | undefined {
    const { geometry, model } = this;
    if (!geometry || !model) return undefined;
    const unit = this.theme?.unit ?? 1;
    const output = Math.floor((x / unit - geometry.left) / geometry.cell);
    const input = Math.floor((y / unit - geometry.top) / geometry.cell);
    const isInside = input >= 0 && input < model.log.inputs && output >= 0 && output < model.log.outputs;
    return isInside ? { input, output } : undefined;
  }

  /**
   * Draws a phase, of which `part` has passed; undefined before the first phase. From an earlier phase `from` on it draws
   * means: the shares of the phases in which inputs and outputs are matched.
   */
  draw(phase: number | undefined, part: number, from: number | undefined): void {
    const { model, theme, geometry, context } = this;
    if (!model || !theme || !geometry) return;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, geometry.width, geometry.height);
    this.drawAxes(model, theme, geometry, phase === undefined || from === undefined ? 1 : phase - from + 1);
    if (phase === undefined) return;
    this.collect(from ?? phase, phase, model);
    this.drawCells(model, theme, geometry);
    this.drawSums(model, theme, geometry);
    this.drawMatching(from === undefined ? part : 0, model, theme, geometry);
  }

  /** Means over phases: of many phases only some are taken. */
  private collect(first: number, last: number, model: CrossbarModel): void {
    const { inputs, outputs, lengths } = model.log;
    const cells = inputs * outputs;
    if (this.lengths.length !== cells) {
      this.lengths = new Float32Array(cells);
      this.shares = new Float32Array(cells);
    }
    this.lengths.fill(0);
    this.shares.fill(0);
    const stride = Math.ceil((last - first + 1) / MOST_PHASES);
    const weight = 1 / Math.ceil((last - first + 1) / stride);
    for (let phase = last; phase >= first; phase -= stride) {
      for (let cell = 0; cell < cells; cell += 1)
        this.lengths[cell] = (this.lengths[cell] as number) + weight * (lengths[phase * cells + cell] as number);
      for (let input = 0; input < inputs; input += 1) {
        const output = model.match(phase, input);
        if (output === undefined) continue;
        const cell = input * outputs + output;
        this.shares[cell] = (this.shares[cell] as number) + weight;
      }
    }
  }

  private drawAxes(model: CrossbarModel, theme: Theme, geometry: CrossbarGeometry, phases: number): void {
    const { context } = this;
    const { left, top, cell, from, to } = geometry;
    const { inputs, outputs } = model.log;
    context.textBaseline = "middle";
    context.fillStyle = theme.ink;
    context.font = `600 12px ${theme.font}`;
    context.textAlign = "left";
    const room = cell * outputs;
    const title = "Length of each VOQ";
    context.fillText(room > 120 ? title : "VOQs", left, 9);
    const titleWidth = context.measureText(title).width;
    context.fillText("Matching", from - 4, 9);
    const matchingWidth = context.measureText("Matching").width;
    context.font = `11px ${theme.font}`;
    context.fillStyle = theme.soft;
    if (room > titleWidth + 150) context.fillText("(rows: inputs, columns: outputs)", left + titleWidth + 6, 9);
    if (phases > 1 && to - from > matchingWidth + 100)
      context.fillText(`(shares of ${formatCount(phases)} phases)`, from + matchingWidth + 2, 9);
    context.textAlign = "center";
    const everyOutput = Math.ceil(20 / cell);
    for (let output = 0; output < outputs; output += everyOutput)
      context.fillText(String(output + 1), left + (output + 0.5) * cell, top - 10);
    const everyInput = Math.ceil(13 / cell);
    context.textAlign = "right";
    for (let input = 0; input < inputs; input += everyInput)
      context.fillText(String(input + 1), left - 8, top + (input + 0.5) * cell);
    // The columns of the matching.
    context.textAlign = "center";
    context.fillText("in", from, top - 10);
    context.fillText("out", to, top - 10);
  }

  private drawCells(model: CrossbarModel, theme: Theme, geometry: CrossbarGeometry): void {
    const { context } = this;
    const { left, top, cell } = geometry;
    const { inputs, outputs } = model.log;
    const gap = cell >= 10 ? 2 : cell >= 6 ? 1 : 0;
    const side = cell - gap;
    const peak = Math.max(model.peakLength, 1);
    const digits = String(peak).length;
    const hasNumbers = cell >= 12 + digits * 6;
    context.textAlign = "center";
    context.font = `${cell >= 30 ? 12 : 10}px ${theme.font}`;
    for (let input = 0; input < inputs; input += 1)
      for (let output = 0; output < outputs; output += 1) {
        const length = this.lengths[input * outputs + output] as number;
        const x = left + output * cell;
        const y = top + input * cell;
        context.fillStyle = theme.shade;
        context.fillRect(x, y, side, side);
        if (length === 0) continue;
        const heat = Math.sqrt(length / peak);
        context.globalAlpha = 0.1 + 0.9 * heat;
        context.fillStyle = theme.heat;
        context.fillRect(x, y, side, side);
        context.globalAlpha = 1;
        if (!hasNumbers) continue;
        context.fillStyle = heat > 0.55 ? theme.panel : theme.ink;
        context.fillText(length < 0.5 ? "<1" : String(Math.round(length)), x + side / 2, y + side / 2 + 1);
      }
    // Matched VOQs have a frame, not a color.
    context.strokeStyle = theme.ink;
    context.lineWidth = cell >= 14 ? 2.5 : Math.max(cell / 6, 1);
    const inset = cell >= 14 ? -0.25 : 0;
    for (let input = 0; input < inputs; input += 1)
      for (let output = 0; output < outputs; output += 1) {
        const share = this.shares[input * outputs + output] as number;
        if (share === 0) continue;
        context.globalAlpha = share;
        context.strokeRect(
          left + output * cell + inset,
          top + input * cell + inset,
          side - 2 * inset,
          side - 2 * inset,
        );
      }
    context.globalAlpha = 1;
  }

  private sum(first: number, step: number, count: number): number {
    let sum = 0;
    for (let place = 0; place < count; place += 1) sum += this.lengths[first + place * step] as number;
    return sum;
  }

  /** What waits at each input and for each output. */
  private drawSums(model: CrossbarModel, theme: Theme, geometry: CrossbarGeometry): void {
    const { context } = this;
    const { left, top, cell, bars, barLength, bottom } = geometry;
    const { inputs, outputs } = model.log;
    const scale = 1 / Math.max(model.peakPortBacklog, 1);
    const thick = Math.max(cell * 0.36, 1);
    context.font = `10px ${theme.font}`;
    const hasNumbers = cell >= 22;
    for (let input = 0; input < inputs; input += 1) {
      const sum = this.sum(input * outputs, 1, outputs);
      const y = top + input * cell + (cell - 1) / 2;
      context.fillStyle = theme.soft;
      context.globalAlpha = 0.55;
      context.fillRect(bars, hasNumbers ? y + 3 : y - thick / 2, sum * scale * barLength, hasNumbers ? 5 : thick);
      context.globalAlpha = 1;
      if (hasNumbers) {
        context.textAlign = "left";
        context.fillText(formatCount(sum), bars, y - 4);
      }
    }
    for (let output = 0; output < outputs; output += 1) {
      const sum = this.sum(output, outputs, inputs);
      const x = left + output * cell + (cell - 1) / 2;
      context.fillStyle = theme.soft;
      context.globalAlpha = 0.55;
      context.fillRect(x - thick / 2, bottom + 4, thick, sum * scale * 22);
      context.globalAlpha = 1;
      if (hasNumbers) {
        context.textAlign = "center";
        context.fillText(formatCount(sum), x, bottom + 35);
      }
    }
  }

  private drawMatching(part: number, model: CrossbarModel, theme: Theme, geometry: CrossbarGeometry): void {
    const { context } = this;
    const { top, cell, from, to, bottom } = geometry;
    const { inputs, outputs } = model.log;
    const spacing = (bottom - top) / outputs;
    const radius = Math.min(Math.max(cell * 0.2, 1.5), 5);
    const yOfInput = (input: number) => top + (input + 0.5) * cell;
    const yOfOutput = (output: number) => top + (output + 0.5) * spacing;
    const bend = (to - from) * 0.45;
    const ofInput = new Float32Array(inputs);
    const ofOutput = new Float32Array(outputs);
    for (let input = 0; input < inputs; input += 1)
      for (let output = 0; output < outputs; output += 1) {
        const share = this.shares[input * outputs + output] as number;
        if (share === 0) continue;
        ofInput[input] = (ofInput[input] as number) + share;
        ofOutput[output] = (ofOutput[output] as number) + share;
        const y = yOfInput(input);
        const end = yOfOutput(output);
        context.strokeStyle = theme.heat;
        context.globalAlpha = 0.75 * Math.sqrt(share);
        context.lineWidth = Math.min(Math.max(cell * 0.09, 1), 3);
        context.beginPath();
        context.moveTo(from, y);
        context.bezierCurveTo(from + bend, y, to - bend, end, to, end);
        context.stroke();
        context.globalAlpha = 1;
        if (part <= 0 || part >= 1) continue;
        // What crosses, at the part of the phase that has passed.
        const rest = 1 - part;
        const along = [rest ** 3, 3 * rest ** 2 * part, 3 * rest * part ** 2, part ** 3] as const;
        const atX = along[0] * from + along[1] * (from + bend) + along[2] * (to - bend) + along[3] * to;
        const atY = (along[0] + along[1]) * y + (along[2] + along[3]) * end;
        const size = Math.max(radius * 1.7, 3);
        context.fillStyle = theme.ink;
        context.fillRect(atX - size / 2, atY - size / 2, size, size);
      }
    const every = Math.ceil(13 / Math.min(cell, spacing));
    context.font = `11px ${theme.font}`;
    const dot = (x: number, y: number, share: number) => {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fillStyle = theme.panel;
      context.fill();
      context.strokeStyle = share > 0 ? theme.heat : theme.soft;
      context.lineWidth = 1.25;
      context.stroke();
      context.globalAlpha = Math.min(share, 1);
      context.fillStyle = theme.heat;
      context.fill();
      context.globalAlpha = 1;
    };
    for (let input = 0; input < inputs; input += 1) dot(from, yOfInput(input), ofInput[input] as number);
    context.textAlign = "left";
    for (let output = 0; output < outputs; output += 1) {
      dot(to, yOfOutput(output), ofOutput[output] as number);
      if (output % every !== 0) continue;
      context.fillStyle = theme.soft;
      context.fillText(String(output + 1), to + radius + 6, yOfOutput(output));
    }
  }
}
