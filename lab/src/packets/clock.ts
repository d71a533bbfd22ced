import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Moment, Timeline } from "./model/timeline";

/** The steps of slow motion: 1 s of a run takes as many seconds. */
export const SLOWNESS: readonly number[] = [0, 1, 2, 3, 4, 5, 6]
  .flatMap(power => [10 ** power, 2 * 10 ** power, 5 * 10 ** power])
  .filter(slowness => slowness <= 1e6);

/** A frame that took longer counts as one of this length: a page in the background does not jump. */
const LONGEST_FRAME_S = 0.1;

/**
 * The time that views share. It runs over `range_s` or, without one, from the earliest to the latest moment of the
 * timelines that views attach.
 */
export class Clock {
  readonly time_s: Signal<number> = signal(0);
  readonly isPlaying: Signal<boolean> = signal(false);
  /** The time that 1 s of the run takes, in seconds. */
  readonly slowness: Signal<number> = signal(1);
  readonly timelines: Signal<readonly Timeline[]> = signal([]);
  readonly range_s: Signal<readonly [from_s: number, to_s: number] | undefined>;
  readonly first_s: ReadonlySignal<number>;
  readonly last_s: ReadonlySignal<number>;
  /** The shortest difference of times that a reader wants to see. */
  readonly resolution_s: Signal<number> = signal(1e-3);
  /** Increases when the time jumps: views then show the new state without a transition. */
  readonly jumps: Signal<number> = signal(0);
  private frame: number | undefined;
  private last_ms = 0;
  private isSet = false;
  private isChosen = false;

  constructor(range_s?: readonly [from_s: number, to_s: number]) {
    this.range_s = signal(range_s);
    this.first_s = computed(
      () => this.range_s.value?.[0] ?? least(this.timelines.value.map(timeline => timeline.first_s)),
    );
    this.last_s = computed(
      () => this.range_s.value?.[1] ?? greatest(this.timelines.value.map(timeline => timeline.last_s)),
    );
  }

  /** Adds a timeline; the result removes it. */
  attach(timeline: Timeline, defaults?: { slowness: number; resolution_s: number }): () => void {
    batch(() => {
      const isFirst = !this.isSet;
      const isAlone = this.timelines.value.length === 0;
      this.timelines.value = [...this.timelines.value, timeline];
      if (isFirst) {
        this.isSet = true;
        this.time_s.value = this.first_s.value;
      } else this.time_s.value = this.clamp(this.time_s.value);
      if (defaults && isAlone && !this.isChosen) this.slowness.value = nearest(defaults.slowness);
      if (defaults)
        this.resolution_s.value = isAlone
          ? defaults.resolution_s
          : Math.min(this.resolution_s.value, defaults.resolution_s);
    });
    return () => {
      this.timelines.value = this.timelines.value.filter(other => other !== timeline);
    };
  }

  play(): void {
    if (this.isPlaying.value) return;
    batch(() => {
      if (this.time_s.value >= this.last_s.value) this.seek(this.first_s.value);
      this.isPlaying.value = true;
    });
    this.last_ms = performance.now();
    this.request();
  }

  pause(): void {
    this.isPlaying.value = false;
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    this.frame = undefined;
  }

  toggle(): void {
    if (this.isPlaying.value) this.pause();
    else this.play();
  }

  seek(time_s: number): void {
    batch(() => {
      this.time_s.value = this.clamp(time_s);
      this.jumps.value += 1;
    });
  }

  /** Pauses and goes to the nearest moment of any timeline; returns whether there is one. */
  step(direction: 1 | -1, moment: Moment = "event"): boolean {
    this.pause();
    const found = this.findMoment(direction, moment);
    if (found === undefined) return false;
    this.seek(found);
    return true;
  }

  findMoment(direction: 1 | -1, moment: Moment): number | undefined {
    const now_s = this.time_s.value;
    const times = this.timelines.value
      .map(timeline => (direction > 0 ? timeline.next(now_s, moment) : timeline.previous(now_s, moment)))
      .filter(time_s => time_s !== undefined);
    if (times.length === 0) return undefined;
    const found_s = direction > 0 ? Math.min(...times) : Math.max(...times);
    return found_s >= this.first_s.value && found_s <= this.last_s.value ? found_s : undefined;
  }

  /** Sets the reader's slow motion, which the defaults of later timelines do not replace. */
  choose(slowness: number): void {
    this.isChosen = true;
    this.slowness.value = slowness;
  }

  /** Moves through the steps of slow motion: positive is slower. */
  slower(steps: number): void {
    const place = SLOWNESS.indexOf(nearest(this.slowness.value));
    this.choose(SLOWNESS[Math.min(Math.max(place + steps, 0), SLOWNESS.length - 1)] as number);
  }

  /** Lets a time of the wall pass. */
  advance(wall_s: number): void {
    const time_s = this.time_s.value + Math.min(wall_s, LONGEST_FRAME_S) / this.slowness.value;
    this.time_s.value = this.clamp(time_s);
    if (time_s >= this.last_s.value) this.pause();
  }

  private request(): void {
    this.frame = requestAnimationFrame(now_ms => {
      this.frame = undefined;
      if (!this.isPlaying.value) return;
      this.request();
      this.advance(Math.max(now_ms - this.last_ms, 0) / 1e3);
      this.last_ms = now_ms;
    });
  }

  private clamp(time_s: number): number {
    return Math.min(Math.max(time_s, this.first_s.value), this.last_s.value);
  }
}

/** The step of slow motion that is nearest on a logarithmic scale. */
export function nearest(slowness: number): number {
  let best = 1;
  for (const step of SLOWNESS)
    if (Math.abs(Math.log(step / slowness)) < Math.abs(Math.log(best / slowness))) best = step;
  return best;
}

function least(values: number[]): number {
  return values.length > 0 ? Math.min(...values) : 0;
}

function greatest(values: number[]): number {
  return values.length > 0 ? Math.max(...values) : 0;
}
