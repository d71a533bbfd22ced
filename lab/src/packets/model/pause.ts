import type { PauseLog } from "../../engine/protocol";
import { countBelow, countUpTo } from "./search";
import { type Course, emptyCourse, type Moment, type Timeline } from "./timeline";

/** In place of a class: PAUSE that stops all classes of a link. */
const ALL_CLASSES = 255;

export function stopsAll(row: PauseRow): boolean {
  return row.class === ALL_CLASSES;
}

/** The name of a class in a log of PAUSE. */
export function className(traffic: number): string {
  return traffic === ALL_CLASSES ? "all classes" : `class ${traffic}`;
}

/** A class of a link: the intervals in which PAUSE stops it. */
export interface PauseRow {
  link: string;
  class: number;
  /** Starts and ends, alternately, in ascending order; the last interval may have no end. */
  edges_s: Float64Array;
}

/** The state of each link and class at any time, from the logs of PAUSE. */
export class PauseModel implements Timeline {
  readonly label: string;
  readonly first_s: number;
  readonly last_s: number;
  readonly rows: PauseRow[];
  private readonly all_s: Float64Array;

  constructor(logs: readonly PauseLog[], label = "PAUSE") {
    this.label = label;
    this.rows = [];
    const all_s: number[] = [];
    for (const log of logs) {
      const edges = new Map<number, number[]>();
      for (let event = 0; event < log.times_s.length; event += 1) {
        const traffic = log.classes[event] as number;
        let list = edges.get(traffic);
        if (!list) {
          list = [];
          edges.set(traffic, list);
        }
        // A repeated PAUSE prolongs the interval; a release of a link that is not stopped changes nothing.
        const isStopped = list.length % 2 === 1;
        if ((log.stopped[event] === 1) === isStopped) continue;
        list.push(log.times_s[event] as number);
        all_s.push(log.times_s[event] as number);
      }
      for (const [traffic, list] of [...edges].sort(([a], [b]) => a - b))
        if (list.length > 0) this.rows.push({ link: log.link, class: traffic, edges_s: Float64Array.from(list) });
    }
    this.all_s = Float64Array.from(all_s).sort();
    this.first_s = this.all_s[0] ?? 0;
    this.last_s = this.all_s[this.all_s.length - 1] ?? 0;
  }

  /** Whether PAUSE stops the row, and since when. */
  stoppedSince_s(row: PauseRow, time_s: number): number | undefined {
    const edges = countUpTo(row.edges_s, time_s);
    return edges % 2 === 1 ? row.edges_s[edges - 1] : undefined;
  }

  isStopped(row: PauseRow, time_s: number): boolean {
    return countUpTo(row.edges_s, time_s) % 2 === 1;
  }

  /** The time between two times in which PAUSE stops the row. */
  stopped_s(row: PauseRow, from_s: number, to_s: number): number {
    let sum = 0;
    this.eachInterval(row, from_s, to_s, (start_s, end_s) => {
      sum += end_s - start_s;
    });
    return sum;
  }

  /** Calls `visit` with each stopped interval, clipped to the two times. */
  eachInterval(row: PauseRow, from_s: number, to_s: number, visit: (start_s: number, end_s: number) => void): void {
    const { edges_s } = row;
    for (let edge = countUpTo(edges_s, from_s) & ~1; edge < edges_s.length; edge += 2) {
      const start_s = Math.max(edges_s[edge] as number, from_s);
      if (start_s >= to_s) return;
      const end_s = Math.min(edges_s[edge + 1] ?? to_s, to_s);
      if (end_s > start_s) visit(start_s, end_s);
    }
  }

  /** The rows that PAUSE stops for the longest time, in their order. */
  mostStopped(most: number): readonly PauseRow[] {
    if (this.rows.length <= most) return this.rows;
    const sums = new Map(this.rows.map(row => [row, this.stopped_s(row, this.first_s, this.last_s)]));
    const chosen = new Set([...this.rows].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0)).slice(0, most));
    return this.rows.filter(row => chosen.has(row));
  }

  /** Whether PAUSE stops any class of a link. */
  isLinkStopped(link: string, time_s: number): boolean {
    return this.rows.some(row => row.link === link && this.isStopped(row, time_s));
  }

  next(time_s: number, moment: Moment): number | undefined {
    return moment === "event" ? this.all_s[countUpTo(this.all_s, time_s)] : undefined;
  }

  previous(time_s: number, moment: Moment): number | undefined {
    return moment === "event" ? this.all_s[countBelow(this.all_s, time_s) - 1] : undefined;
  }

  course(from_s: number, to_s: number, buckets: number): Course {
    const course = emptyCourse(buckets, "stopped");
    course.peak = this.rows.length;
    const scale = buckets / Math.max(to_s - from_s, Number.MIN_VALUE);
    const steps = new Int32Array(buckets + 1);
    for (const row of this.rows) {
      let counted = -1;
      this.eachInterval(row, from_s, to_s, (start_s, end_s) => {
        // Several intervals of a row in one bucket count once.
        const first = Math.max(Math.floor((start_s - from_s) * scale), counted + 1);
        const last = Math.min(Math.floor((end_s - from_s) * scale), buckets - 1);
        if (first > last) return;
        steps[first] = (steps[first] as number) + 1;
        steps[last + 1] = (steps[last + 1] as number) - 1;
        counted = last;
      });
    }
    let level = 0;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      level += steps[bucket] as number;
      course.levels[bucket] = level;
    }
    return course;
  }
}
