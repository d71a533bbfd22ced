/** Flows that look alike and are counted together: one flow, or a group of flows. */
export interface Series {
  name: string;
  /** The number of its look. */
  look: number;
}

/** The series of flows, for all logs that are shown together. */
export interface SeriesPlan {
  series: Series[];
  indexOf: ReadonlyMap<string, number>;
}

const NUMBERED = /-\d+(?=[ /]|$)/;

/** The group of a flow: `tcp-3` belongs to `tcp`, as flows with a count in a scenario are named. */
export function groupOf(flow: string): string {
  return flow.replace(NUMBERED, "");
}

/** More flows than this are drawn as groups, as in the charts. */
const MOST_FLOWS = 12;

/**
 * A series for each flow; for each group if there are more flows than looks, and several groups. The order is that of
 * the looks that `lookOf` gives, then that of the names.
 */
export function planSeries(flows: readonly string[], lookOf?: (flow: string) => number | undefined): SeriesPlan {
  const looks = new Map([...new Set(flows)].map(flow => [flow, lookOf?.(flow)]));
  const names = [...looks.keys()].sort(
    (a, b) =>
      (looks.get(a) ?? Number.MAX_VALUE) - (looks.get(b) ?? Number.MAX_VALUE) ||
      a.localeCompare(b, "en", { numeric: true }),
  );
  const isGrouped = names.length > MOST_FLOWS && new Set(names.map(groupOf)).size > 1;
  const series: Series[] = [];
  const places = new Map<string, number>();
  const indexOf = new Map<string, number>();
  let free = 0;
  for (const flow of names) {
    const name = isGrouped ? groupOf(flow) : flow;
    let place = places.get(name);
    if (place === undefined) {
      place = series.length;
      places.set(name, place);
      const look = looks.get(flow) ?? free;
      free = Math.max(free, look + 1);
      series.push({ name, look });
    }
    indexOf.set(flow, place);
  }
  return { series, indexOf };
}

/** Counts by group in the order of their size, such as `tcp 12, flood 5`. */
export function countsText(counts: ReadonlyMap<string, number>, most = 6): string {
  const groups = new Map<string, number>();
  for (const [flow, count] of counts) {
    if (count === 0) continue;
    const group = groupOf(flow);
    groups.set(group, (groups.get(group) ?? 0) + count);
  }
  const sorted = [...groups].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, most).map(([group, count]) => `${group} ${count}`);
  const others = sorted.slice(most).reduce((sum, [, count]) => sum + count, 0);
  if (others > 0) shown.push(`others ${others}`);
  return shown.join(", ");
}
