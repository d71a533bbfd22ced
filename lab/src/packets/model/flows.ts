/** Flows that look alike and are counted together: one flow, or a group of flows. */
export interface Series {
  name: string;
  /** The number of its look. */
  look: number;
}

/** The series of flows, for all logs that are shown together. */
export interface SeriesPlan {
  series: Series[];
  /** The groups that the charts know. */
  groups: readonly string[];
  indexOf: ReadonlyMap<string, number>;
}

/** More flows than this are drawn as groups, as in the charts. */
const MOST_FLOWS = 12;
const NUMBERS = /(-\d+)+(?=\/|$)/;
const REMARK = / \([^()]*\)$/;

/**
 * The group of a flow: of the given ones, the longest that fits; flows are called `group`, `group-3` or `group/request`,
 * with `(ACKs)` and the like at the end. Without a group that fits it is the name without numbers.
 */
export function groupOf(flow: string, groups: readonly string[] = []): string {
  const remark = REMARK.exec(flow)?.[0] ?? "";
  const name = flow.slice(0, flow.length - remark.length);
  let best: string | undefined;
  for (const group of groups) {
    const fits = name === group || name.startsWith(`${group}-`) || name.startsWith(`${group}/`);
    if (fits && (best === undefined || group.length > best.length)) best = group;
  }
  return (best ?? name.replace(NUMBERS, "")) + remark;
}

/** What the charts know of flows. */
export interface FlowOrder {
  /** The number of a flow's look. */
  lookOf?: ((flow: string) => number | undefined) | undefined;
  /** The groups in the order of their looks. */
  groups?: readonly string[] | undefined;
}

const byName = new Intl.Collator("en", { numeric: true }).compare;

/**
 * A series for each flow; for each group if there are more flows, and several groups. The order is that of the looks in
 * the charts, then that of the names.
 */
export function planSeries(flows: readonly string[], { lookOf, groups = [] }: FlowOrder = {}): SeriesPlan {
  const names = [...new Set(flows)];
  const groupNames = names.map(name => groupOf(name, groups));
  const isGrouped = names.length > MOST_FLOWS && new Set(groupNames).size > 1;
  const looks = new Map<string, number | undefined>();
  const seriesNames = new Map<string, string>();
  names.forEach((name, place) => {
    const series = isGrouped ? (groupNames[place] as string) : name;
    seriesNames.set(name, series);
    const look = isGrouped ? groups.indexOf(series) : (lookOf?.(name) ?? -1);
    looks.set(series, look >= 0 ? look : undefined);
  });
  let free = Math.max(-1, ...[...looks.values()].map(look => look ?? -1));
  const series = [...looks.keys()]
    .sort((a, b) => (looks.get(a) ?? Number.MAX_VALUE) - (looks.get(b) ?? Number.MAX_VALUE) || byName(a, b))
    .map(name => {
      const known = looks.get(name);
      if (known === undefined) free += 1;
      return { name, look: known ?? free };
    });
  const places = new Map(series.map(({ name }, place) => [name, place]));
  return {
    series,
    groups,
    indexOf: new Map(names.map(name => [name, places.get(seriesNames.get(name) as string) as number])),
  };
}

/** Counts by group in the order of their size, such as `tcp 12, flood 5`. */
export function countsText(counts: ReadonlyMap<string, number>, known: readonly string[] = [], most = 6): string {
  const groups = new Map<string, number>();
  for (const [flow, count] of counts) {
    if (count === 0) continue;
    const group = groupOf(flow, known);
    groups.set(group, (groups.get(group) ?? 0) + count);
  }
  const sorted = [...groups].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, most).map(([group, count]) => `${group} ${count}`);
  const others = sorted.slice(most).reduce((sum, [, count]) => sum + count, 0);
  if (others > 0) shown.push(`others ${others}`);
  return shown.join(", ");
}
