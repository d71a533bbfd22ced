// The colours of lines: the palette of Okabe and Ito, which readers with colour-blindness tell apart.

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b8588f", "#c98500", "#3a9fd6", "#3d444b"];
const DARK = ["#4da9e6", "#ff8b4d", "#2cc79a", "#e59bc6", "#f0b840", "#8fd6ff", "#c9d0d6"];
const DASHES: number[][] = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

/** The number of colors: looks beyond it have dashes. */
export const COLORS = LIGHT.length;

export interface Look {
  color: string;
  /** Lengths of dashes and gaps; none for a solid line. */
  dash: number[];
}

/** The look of the line with that number: all colours in one style, then all in the next. */
export function lookOf(index: number, isDark: boolean): Look {
  const colors = isDark ? DARK : LIGHT;
  return {
    color: colors[index % colors.length] as string,
    dash: DASHES[Math.floor(index / colors.length) % DASHES.length] as number[],
  };
}

/** The colours of all that is not data. */
export interface Inks {
  paper: string;
  ink: string;
  soft: string;
  line: string;
  grid: string;
  shade: string;
}

export function inksOf(isDark: boolean): Inks {
  return isDark
    ? { paper: "#171c21", ink: "#e4e8ec", soft: "#9aa5af", line: "#4a545d", grid: "#272e35", shade: "#ffffff0d" }
    : { paper: "#ffffff", ink: "#1b1f24", soft: "#5a646e", line: "#b9c1c8", grid: "#eceff1", shade: "#0000000b" };
}

const [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK] = LIGHT as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
];
const STEADY = "";
const OF_STATES: Record<string, string> = {
  slow_start: ORANGE,
  congestion_avoidance: STEADY,
  recovery: VERMILLION,
  reduction: SKY,
  timeout: BLACK,
  startup: ORANGE,
  drain: BLUE,
  probe_bw: STEADY,
  probe_bw_down: SKY,
  probe_bw_cruise: STEADY,
  probe_bw_refill: "#d8c400",
  probe_bw_up: GREEN,
  probe_rtt: PURPLE,
  slowdown: PURPLE,
  classic_queue: PURPLE,
};

/** The colour of a state of a sender; empty for the steady ones, which have no band. */
export function colorOfState(state: string): string {
  return OF_STATES[state] ?? PURPLE;
}
