import { type Signal, signal } from "@preact/signals";

/** The colors of what is not data, as the page's CSS has them. */
export interface Theme {
  isDark: boolean;
  ink: string;
  soft: string;
  line: string;
  panel: string;
  shade: string;
  accent: string;
  stop: string;
  heat: string;
  font: string;
  /** The size of a picture for the font size of the page: 1 is that of a desktop. */
  unit: number;
}

const NAMES = ["ink", "soft", "line", "panel", "shade", "accent", "stop", "heat"] as const;

const PLAIN_FONT_PX = 13.8;

/** Reads the theme at an element. A property may hold any CSS color; the browser resolves it. */
export function readTheme(element: HTMLElement): Theme {
  const colors = {} as Record<(typeof NAMES)[number], string>;
  const before = element.style.color;
  for (const name of NAMES) {
    element.style.color = `var(--pk-${name})`;
    colors[name] = getComputedStyle(element).color;
  }
  element.style.color = before;
  const { fontFamily, fontSize } = getComputedStyle(element);
  const unit = Math.min(Math.max(Number.parseFloat(fontSize) / PLAIN_FONT_PX || 1, 1), 1.6);
  return { ...colors, isDark: luminance(colors.ink) > 0.5, font: fontFamily, unit };
}

function luminance(color: string): number {
  const parts = color.match(/[\d.]+/g)?.map(Number) ?? [];
  const [red = 0, green = 0, blue = 0] = parts;
  const scale = color.startsWith("color(") ? 1 : 255;
  return (0.299 * red + 0.587 * green + 0.114 * blue) / scale;
}

/** Increases when the theme of the page may have changed. */
export const themeChanges: Signal<number> = signal(0);

function changed(): void {
  themeChanges.value += 1;
}

if (typeof document !== "undefined" && typeof matchMedia === "function") {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  // The font size may follow the width of the window.
  addEventListener("resize", changed);
  for (const element of [document.documentElement, document.body])
    if (element) new MutationObserver(changed).observe(element, { attributes: true });
}

/** Whether the reader asked for less motion. */
export const isMotionReduced: Signal<boolean> = signal(false);

if (typeof matchMedia === "function") {
  const query = matchMedia("(prefers-reduced-motion: reduce)");
  isMotionReduced.value = query.matches;
  query.addEventListener("change", () => {
    isMotionReduced.value = query.matches;
  });
}
