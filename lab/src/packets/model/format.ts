const UNITS: [factor: number, name: string][] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
  [1e-9, "ns"],
];

/** A span with three significant digits, such as `1.25 ms`. */
export function formatSpan(span_s: number): string {
  if (span_s === 0) return "0 s";
  const [factor, name] = UNITS.find(([unit]) => Math.abs(span_s) >= unit * 0.9995) ?? (UNITS[3] as [number, string]);
  return `${trim((span_s / factor).toPrecision(3))} ${name}`;
}

/** A moment of a range that ends at `end_s`, with the digits that `resolution_s` needs, such as `12.4 ms`. */
export function formatTime(time_s: number, end_s: number, resolution_s: number): string {
  const [factor, name] = UNITS.find(([unit]) => Math.abs(end_s) >= unit) ?? (UNITS[3] as [number, string]);
  const digits = Math.ceil(Math.log10(factor / Math.max(resolution_s, 1e-12)) - 1e-9);
  return `${(time_s / factor).toFixed(Math.min(Math.max(digits, 0), 12))} ${name}`;
}

/** A rate such as `10 Mbps`, as scenarios write it. */
export function formatRate(rate_bps: number): string {
  for (const [factor, name] of [
    [1e12, "Tbps"],
    [1e9, "Gbps"],
    [1e6, "Mbps"],
    [1e3, "kbps"],
  ] as const)
    if (rate_bps >= factor) return `${trim((rate_bps / factor).toPrecision(3))} ${name}`;
  return `${trim(rate_bps.toPrecision(3))} bps`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`;
  for (const [factor, name] of [
    [1e9, "GB"],
    [1e6, "MB"],
  ] as const)
    if (bytes >= factor) return `${trim((bytes / factor).toPrecision(3))} ${name}`;
  return `${trim((bytes / 1e3).toPrecision(3))} kB`;
}

/** A count with narrow spaces between groups of three digits. */
export function formatCount(count: number): string {
  const digits = String(Math.round(count));
  return digits.length < 5 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A ratio of slow motion such as `1 : 2 000`. */
export function formatSlowness(slowness: number): string {
  return `1 : ${formatCount(slowness)}`;
}

export function plural(count: number, noun: string, several = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : several}`;
}

function trim(text: string): string {
  const plain = text.includes("e") ? String(Number(text)) : text;
  return plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
}
