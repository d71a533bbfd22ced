import type { CrossbarLog } from "../../engine/protocol";
import { countBelow, countUpTo } from "./search";
import { type Course, emptyCourse, type Moment, type Timeline } from "./timeline";

/** The phase of a crossbar at any time, from its log. */
export class CrossbarModel implements Timeline {
  readonly label: string;
  readonly log: CrossbarLog;
  readonly first_s: number;
  readonly last_s: number;
  readonly phaseCount: number;
  /** The largest length of one VOQ, and of all VOQs of one phase together. */
  readonly peakLength: number;
  readonly peakBacklog: number;
  /** The largest backlog of one input, or for one output, in any phase. */
  readonly peakPortBacklog: number;
  private readonly backlogs: Float64Array;

  constructor(log: CrossbarLog, label = log.node) {
    this.label = label;
    this.log = log;
    const { times_s, lengths, inputs, outputs } = log;
    this.phaseCount = times_s.length;
    this.first_s = times_s[0] ?? 0;
    this.last_s = times_s[this.phaseCount - 1] ?? 0;
    const cells = inputs * outputs;
    this.backlogs = new Float64Array(this.phaseCount);
    let peakLength = 0;
    let peakBacklog = 0;
    let peakPortBacklog = 0;
    const columns = new Float64Array(outputs);
    for (let phase = 0; phase < this.phaseCount; phase += 1) {
      let sum = 0;
      columns.fill(0);
      for (let input = 0; input < inputs; input += 1) {
        let row = 0;
        for (let output = 0; output < outputs; output += 1) {
          const length = lengths[phase * cells + input * outputs + output] as number;
          row += length;
          columns[output] = (columns[output] as number) + length;
          if (length > peakLength) peakLength = length;
        }
        sum += row;
        if (row > peakPortBacklog) peakPortBacklog = row;
      }
      for (const column of columns) if (column > peakPortBacklog) peakPortBacklog = column;
      this.backlogs[phase] = sum;
      if (sum > peakBacklog) peakBacklog = sum;
    }
    this.peakLength = peakLength;
    this.peakBacklog = peakBacklog;
    this.peakPortBacklog = peakPortBacklog;
  }

  /** The phase that is in effect at a time; undefined before the first one. */
  phaseAt(time_s: number): number | undefined {
    const phases = countUpTo(this.log.times_s, time_s);
    return phases > 0 ? phases - 1 : undefined;
  }

  length(phase: number, input: number, output: number): number {
    const { inputs, outputs, lengths } = this.log;
    return lengths[(phase * inputs + input) * outputs + output] as number;
  }

  /** The output to which an input is matched. */
  match(phase: number, input: number): number | undefined {
    const output = this.log.matchings[phase * this.log.inputs + input] as number;
    return output < 0 ? undefined : output;
  }

  matched(phase: number): number {
    let count = 0;
    for (let input = 0; input < this.log.inputs; input += 1) if (this.match(phase, input) !== undefined) count += 1;
    return count;
  }

  /** Cells or packets in all VOQs before the matching. */
  backlog(phase: number): number {
    return this.backlogs[phase] as number;
  }

  inputBacklog(phase: number, input: number): number {
    let sum = 0;
    for (let output = 0; output < this.log.outputs; output += 1) sum += this.length(phase, input, output);
    return sum;
  }

  outputBacklog(phase: number, output: number): number {
    let sum = 0;
    for (let input = 0; input < this.log.inputs; input += 1) sum += this.length(phase, input, output);
    return sum;
  }

  /** The longest VOQs of a phase, the longest first. */
  longest(phase: number, most: number): { input: number; output: number; length: number }[] {
    const voqs: { input: number; output: number; length: number }[] = [];
    for (let input = 0; input < this.log.inputs; input += 1)
      for (let output = 0; output < this.log.outputs; output += 1) {
        const length = this.length(phase, input, output);
        if (length > 0) voqs.push({ input, output, length });
      }
    return voqs.sort((a, b) => b.length - a.length).slice(0, most);
  }

  next(time_s: number, moment: Moment): number | undefined {
    return moment === "event" ? this.log.times_s[countUpTo(this.log.times_s, time_s)] : undefined;
  }

  previous(time_s: number, moment: Moment): number | undefined {
    return moment === "event" ? this.log.times_s[countBelow(this.log.times_s, time_s) - 1] : undefined;
  }

  course(from_s: number, to_s: number, buckets: number): Course {
    const course = emptyCourse(buckets, "in VOQs");
    course.peak = this.peakBacklog;
    const scale = buckets / Math.max(to_s - from_s, Number.MIN_VALUE);
    const first = Math.max(countUpTo(this.log.times_s, from_s) - 1, 0);
    const last = countUpTo(this.log.times_s, to_s);
    for (let phase = first; phase < last; phase += 1) {
      const start_s = Math.max(this.log.times_s[phase] as number, from_s);
      const end_s = Math.min(this.log.times_s[phase + 1] ?? (this.log.is_cut ? this.last_s : to_s), to_s);
      const end = Math.min(Math.floor((end_s - from_s) * scale), buckets - 1);
      const level = this.backlogs[phase] as number;
      for (let bucket = Math.floor((start_s - from_s) * scale); bucket <= end; bucket += 1)
        if (level > (course.levels[bucket] as number)) course.levels[bucket] = level;
    }
    return course;
  }
}
