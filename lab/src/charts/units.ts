// Names of quantities end in their unit: from them come titles, units and fitting prefixes, as in Forebay's figures.

/** A value divided by `divisor` is in `unit`. */
export interface Scale {
  divisor: number;
  unit: string;
}

type Prefix = [divisor: number, name: string];

const DECIMAL: Prefix[] = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];
const FRACTIONS: Prefix[] = [
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];
const UNITS: [suffix: string, unit: string, prefixes: Prefix[]][] = [
  ["_bps", "b/s", DECIMAL],
  ["_s", "s", FRACTIONS],
  ["_bytes", "B", DECIMAL],
];
const SHARES = new Set(["loss", "utilization", "paused_share", "share_of_packets"]);
const TITLES: Record<string, string> = {
  avg: "Average queue",
  dbl: "DBL",
  longest_voq_packets: "Longest VOQ",
  mos: "Mean opinion score",
  p_mark: "Mark probability",
  paused_share: "Stopped by PAUSE",
  r_factor: "R factor",
  rtt_s: "Round-trip time",
  share_of_packets: "Packets with no more",
  rtt_smoothed_s: "Smoothed RTT",
  rtt_latest_s: "Latest RTT",
  rtt_min_s: "Shortest RTT",
  model_rtt_s: "RTT of the model",
  video_bitrate_bps: "Bitrate",
  video_buffer_s: "Buffer",
};

/** The unit for a quantity of that name of which the largest value is `largest`. */
export function scaleOf(quantity: string, largest: number): Scale {
  for (const [suffix, unit, prefixes] of UNITS) {
    if (quantity.endsWith(suffix)) {
      if (!(Math.abs(largest) > 0)) {
        return { divisor: 1, unit };
      }
      const [divisor, prefix] = prefixes.find(([it]) => Math.abs(largest) >= it) ?? (prefixes.at(-1) as Prefix);
      return { divisor, unit: prefix + unit };
    }
  }
  if (SHARES.has(quantity)) {
    return { divisor: 0.01, unit: "%" };
  }
  const isCount = quantity.endsWith("_packets") || quantity.startsWith("packets_");
  return { divisor: 1, unit: isCount ? "packets" : "" };
}

/** The name of a quantity without its unit: `congestion_window_bytes` is "Congestion window". */
export function titleOf(quantity: string): string {
  const known = TITLES[quantity];
  if (known !== undefined) {
    return known;
  }
  const name = quantity.replace(/_(bps|s|bytes|packets)$/, "").replaceAll("_", " ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** A number with so many significant digits, grouped thousands and no exponent; "–" for none. */
export function numberText(value: number | undefined, digits = 4): string {
  if (value === undefined || !Number.isFinite(value)) {
    return "–";
  }
  return value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, wholeDigits(value)) });
}

function wholeDigits(value: number): number {
  const size = Math.abs(value);
  return size >= 1 ? Math.floor(Math.log10(size)) + 1 : 1;
}

/** A value in the unit that fits: "20 ms". */
export function textWithUnit(quantity: string, value: number, digits = 3): string {
  if (!Number.isFinite(value)) {
    return "–";
  }
  const { divisor, unit } = scaleOf(quantity, value);
  return `${numberText(value / divisor, digits)} ${unit}`.trim();
}

const MOST_BEFORE_POINT = 10_000;

/** The unit for a column: the one that fits its smallest value, unless the largest would have five digits. */
export function columnScale(quantity: string, values: Iterable<number>): Scale {
  if (quantity.endsWith("_at_s")) {
    // Points in time are in seconds, as on axes.
    return { divisor: 1, unit: "s" };
  }
  const sizes = [...values].map(Math.abs).filter(it => it > 0 && Number.isFinite(it));
  if (sizes.length === 0) {
    return scaleOf(quantity, 0);
  }
  const largest = Math.max(...sizes);
  const fitting = scaleOf(quantity, Math.min(...sizes));
  return largest / fitting.divisor < MOST_BEFORE_POINT ? fitting : scaleOf(quantity, largest);
}
