// Round numbers on axes.

/** Round numbers within a range, about `count` of them. */
export function ticksOf(from: number, to: number, count: number): number[] {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) {
    return [from];
  }
  const raw = span / Math.max(1, count);
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = magnitude * ([1, 2, 2.5, 5, 10].find(it => it * magnitude >= raw * 0.999) ?? 10);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** 1, 2 and 5 times powers of ten within a range; only the powers where these are many. */
export function logTicksOf(from: number, to: number): number[] {
  const ticks: number[] = [];
  const decades = Math.log10(to / from);
  const factors = decades > 3 ? [1] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power += 1) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= from && tick <= to) {
        ticks.push(tick);
      }
    }
  }
  return ticks;
}
