// Which packets a run records.

import type { Facts, QueuePlace, RunResult, Watch } from "../engine/protocol";
import { roundInterval } from "./contenders";
import { numbersOf, textsOf } from "./summary";

/** More links than these are not watched at a time. */
const MOST_LINKS = 2;
const MOST_EVENTS = 200_000;
/** A view of packets shows about as many in its time. */
const PACKETS_SHOWN = 3_000;
const PACKET_BITS = 8 * 1000;

/** The links of the queue that is compared, or all. Of many, those with the longest queues in a result. */
export function linksToWatch(facts: Facts, place: QueuePlace | undefined, result: RunResult | undefined): string[] {
  const known = place?.links ?? (facts.plan?.links ?? []).map(it => it.name);
  if (known.length <= MOST_LINKS || !result) {
    return known.slice(0, MOST_LINKS);
  }
  const names = textsOf(result.queues, "name");
  const lengths = numbersOf(result.queues, "length_mean_bytes");
  const lengthOf = (link: string) => lengths[names.indexOf(link)] ?? 0;
  return [...known].sort((a, b) => lengthOf(b) - lengthOf(a)).slice(0, MOST_LINKS);
}

/** A time in which the links carry some thousand packets, from the end of the warm-up or from `from_s`. */
export function watchOf(facts: Facts, links: string[], from_s: number | undefined): Watch {
  const known = facts.plan?.links ?? [];
  const rates = known.filter(it => links.includes(it.name)).map(it => it.rate_bps);
  const packets_per_s = Math.max(1, ...rates) / PACKET_BITS;
  const span = Math.min(facts.duration_s, secondsOf(roundInterval(PACKETS_SHOWN / packets_per_s)));
  const from = Math.min(Math.max(0, from_s ?? facts.warmup_s), Math.max(0, facts.duration_s - span));
  return { links, from_s: from, to_s: from + span, most: MOST_EVENTS };
}

/** The seconds of a text such as "50 ms". */
function secondsOf(text: string): number {
  const [number = "0", unit = "s"] = text.split(" ");
  const units: Record<string, number> = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, ps: 1e-12 };
  return Number(number) * (units[unit] ?? 1);
}
