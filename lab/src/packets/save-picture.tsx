import type { RefObject } from "preact";
import { download, filePart } from "../charts/download";
import type { Clock } from "./clock";
import { flowLook } from "./colors";
import type { Series } from "./model/flows";
import { timeText } from "./playback";
import { readTheme } from "./theme";

const MARGIN = 12;
const CAPTION = 24;
const LEGEND_LINE = 20;

interface SavePictureProps {
  canvas: RefObject<HTMLCanvasElement | null>;
  /** The queue, crossbar or links in the picture. */
  name: string;
  clock: Clock;
  /** The flows in the picture. */
  series?: readonly Series[];
}

/** A button that saves the picture of this moment. */
export function SavePicture({ canvas, name, clock, series = [] }: SavePictureProps) {
  return (
    <button
      type="button"
      class="pk-save"
      aria-label={`Save the picture of ${name} as PNG`}
      onClick={() => {
        if (canvas.current) save(canvas.current, name, timeText(clock, clock.time_s.peek()), series);
      }}
    >
      PNG
    </button>
  );
}

/** Saves a canvas on the color of the page, with its name and time above, and the colors of flows below. */
function save(canvas: HTMLCanvasElement, name: string, time: string, series: readonly Series[]): void {
  const theme = readTheme(canvas);
  const ratio = canvas.width / Math.max(canvas.clientWidth, 1);
  const picture = document.createElement("canvas");
  picture.width = canvas.width + 2 * MARGIN * ratio;
  const context = picture.getContext("2d");
  if (!context) return;
  const legendFont = `12px ${theme.font}`;
  context.font = legendFont;
  const right = canvas.width / ratio + MARGIN;
  const entries: { name: string; color: string; x: number; line: number }[] = [];
  let x = MARGIN;
  let line = 0;
  for (const { name: flow, look } of series) {
    const width = context.measureText(flow).width + 34;
    if (x + width > right && x > MARGIN) {
      x = MARGIN;
      line += 1;
    }
    entries.push({ name: flow, color: flowLook(look, theme.isDark).color, x, line });
    x += width;
  }
  const legend = entries.length > 0 ? (line + 1) * LEGEND_LINE + 6 : 0;
  const bottom = MARGIN + CAPTION + canvas.height / ratio + 6;
  picture.height = canvas.height + (2 * MARGIN + CAPTION + legend) * ratio;
  context.fillStyle = theme.panel;
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(canvas, MARGIN * ratio, (MARGIN + CAPTION) * ratio);
  context.scale(ratio, ratio);
  context.fillStyle = theme.ink;
  context.font = `600 14px ${theme.font}`;
  context.textBaseline = "middle";
  context.fillText(`${name}, t = ${time}`, MARGIN, MARGIN + CAPTION / 2);
  context.font = legendFont;
  for (const entry of entries) {
    const y = bottom + (entry.line + 0.5) * LEGEND_LINE;
    context.fillStyle = entry.color;
    context.fillRect(entry.x, y - 6, 12, 12);
    context.fillStyle = theme.ink;
    context.fillText(entry.name, entry.x + 18, y + 0.5);
  }
  picture.toBlob(blob => {
    if (blob) download(`${filePart(name)}.png`, blob);
  }, "image/png");
}
