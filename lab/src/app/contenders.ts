// The queue that a comparison replaces, and the values that replace it: those of `forebay compare`.

import type { Facts, Override, QueuePlace, Value } from "../engine/protocol";

type Fitted = (discipline: string, rate: string, limit?: string) => Promise<[string, string | number][]>;

/** The queues that can be replaced: those that a scenario describes, and its bottlenecks. */
export function placesOf(facts: Facts): QueuePlace[] {
  const known = (facts.plan?.queues ?? []).filter(it => it.path !== undefined);
  const described = known.filter(it => it.discipline !== undefined || it.role === "bottleneck");
  return described.length > 0 ? described : known;
}

/** The queue that is replaced unless another one is asked for: the bottleneck's, else the first that is described. */
export function defaultPlace(facts: Facts): QueuePlace | undefined {
  const places = placesOf(facts);
  const bottlenecks = places.filter(it => it.role === "bottleneck");
  const described = bottlenecks.filter(it => it.discipline !== undefined && !it.is_back);
  return (bottlenecks.length === 1 ? bottlenecks[0] : described[0]) ?? bottlenecks[0] ?? places[0];
}

/** The rate of the slowest link that the queue feeds, as it is written in a scenario. */
function slowestRate(facts: Facts, place: QueuePlace): string | undefined {
  const links = new Set(place.links);
  const rates = (facts.plan?.links ?? []).filter(it => links.has(it.name)).map(it => it.rate_bps);
  return rates.length > 0 ? `${Math.min(...rates)} bps` : undefined;
}

/** The names of parameters that the text gives to the discipline at a place: of numbers and quantities. */
function givenKeys(values: readonly Value[], path: string): Set<string> {
  const start = `${path}.`;
  const inside = values.filter(it => it.path.startsWith(start));
  return new Set(inside.map(it => it.path.slice(start.length).split(".")[0] as string));
}

function literal(value: string | number): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/**
 * The overrides that put a discipline in a place. Where the scenario has the same discipline there, its parameters are
 * kept. Parameters that are not given follow from the link's rate and the limit of the queue that is replaced.
 */
export async function queueOverrides(
  facts: Facts,
  text: { text: string; values: readonly Value[] },
  place: QueuePlace,
  discipline: string,
  fitted: Fitted,
): Promise<Override[]> {
  const { path } = place;
  if (path === undefined) {
    return [];
  }
  const rate = slowestRate(facts, place);
  const parameters = rate === undefined ? [] : await fitted(discipline, rate, place.limit);
  if (place.discipline === discipline) {
    const own = givenKeys(text.values, `${path}.${discipline}`);
    if (/\bpreset\b/.test(text.text)) {
      // A preset of DBL decides the packet size.
      own.add("max_packet_size");
    }
    return parameters
      .filter(([name]) => !own.has(name))
      .map(([name, value]): Override => [`${path}.${discipline}.${name}`, literal(value)]);
  }
  const table = parameters.map(([name, value]) => `${name} = ${literal(value)}`).join(", ");
  return [[path, `{ ${discipline} = { ${table} } }`]];
}

const SAMPLES = 300;

/** Overrides that record time series where the scenario has none: about 300 values of each. */
export function seriesOverrides(facts: Facts): Override[] {
  return facts.has_probes ? [] : [["probes.interval", JSON.stringify(roundInterval(facts.duration_s / SAMPLES))]];
}

/** A round time near that many seconds, as a text with a unit. */
export function roundInterval(seconds: number): string {
  const picoseconds = Math.max(1, seconds * 1e12);
  const magnitude = 10 ** Math.floor(Math.log10(picoseconds));
  const factor = [1, 2, 5, 10].find(it => it * magnitude >= picoseconds * 0.999) ?? 10;
  const whole = Math.max(1, Math.round(factor * magnitude));
  for (const [unit, size] of [
    ["s", 1e12],
    ["ms", 1e9],
    ["us", 1e6],
    ["ns", 1e3],
  ] as const) {
    if (whole >= size) {
      return `${whole / size} ${unit}`;
    }
  }
  return `${whole} ps`;
}
