/** Moments to which a clock can step. */
export type Moment = "event" | "drop" | "mark";

/** A log on the time axis of a clock: its range, its moments, and its course for the seek bar. */
export interface Timeline {
  readonly label: string;
  readonly first_s: number;
  readonly last_s: number;
  /** The first such moment after `time_s`. */
  next(time_s: number, moment: Moment): number | undefined;
  /** The last such moment before `time_s`. */
  previous(time_s: number, moment: Moment): number | undefined;
  /** The course between two times in `buckets` equal parts. */
  course(from_s: number, to_s: number, buckets: number): Course;
}

/** The largest level, and whether there were drops and marks, in each bucket. */
export interface Course {
  levels: Float32Array;
  drops: Uint32Array;
  marks: Uint32Array;
  /** The largest level of the whole log. */
  peak: number;
  /** The noun after a level, such as `packets`. */
  unit: string;
}

export function emptyCourse(buckets: number, unit: string): Course {
  return {
    levels: new Float32Array(buckets),
    drops: new Uint32Array(buckets),
    marks: new Uint32Array(buckets),
    peak: 0,
    unit,
  };
}
