import { effect, type ReadonlySignal, type Signal, signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Clock } from "./clock";
import type { Timeline } from "./model/timeline";
import { readTheme, type Theme, themeChanges } from "./theme";

const TEXT_INTERVAL_MS = 200;

/** The clock of the page, or one of the component's own. */
export function useClock(given: Clock | undefined): Clock {
  const own = useMemo(() => given ?? new Clock(), [given]);
  useEffect(() => (given ? undefined : () => own.pause()), [given, own]);
  return own;
}

/** The last list with the same items, so that a list made in each rendering is one list. */
export function useSame<Item>(items: readonly Item[], keysOf: (item: Item) => readonly unknown[]): readonly Item[] {
  const last = useRef(items);
  const isSame =
    last.current.length === items.length &&
    items.every((item, place) => {
      const keys = keysOf(last.current[place] as Item);
      return keysOf(item).every((key, at) => key === keys[at]);
    });
  if (!isSame) last.current = items;
  return last.current;
}

/** Puts timelines onto the clock for as long as the component shows them. */
export function useTimelines(
  clock: Clock,
  timelines: readonly Timeline[],
  defaults?: { slowness: number; resolution_s: number },
): void {
  useEffect(() => {
    const removals = timelines.map(timeline => clock.attach(timeline, defaults));
    return () => {
      for (const remove of removals) remove();
    };
  }, [clock, timelines]);
}

/** The time of a clock for texts: it changes a few times per second. */
export function useTextTime(clock: Clock): ReadonlySignal<number> {
  const text_s = useSignal(clock.time_s.peek());
  useEffect(() => {
    let last_ms = 0;
    return effect(() => {
      const time_s = clock.time_s.value;
      const now_ms = performance.now();
      if (clock.isPlaying.value && now_ms - last_ms < TEXT_INTERVAL_MS) return;
      last_ms = now_ms;
      text_s.value = time_s;
    });
  }, [clock, text_s]);
  return text_s;
}

/** The width of an element in CSS pixels. */
export function useWidth(element: RefObject<HTMLElement | null>): Signal<number> {
  const width = useSignal(0);
  useEffect(() => {
    const observed = element.current;
    if (!observed) return undefined;
    width.value = Math.floor(observed.clientWidth);
    if (typeof ResizeObserver === "undefined") return undefined;
    const observer = new ResizeObserver(() => {
      width.value = Math.floor(observed.clientWidth);
    });
    observer.observe(observed);
    return () => observer.disconnect();
  }, [element, width]);
  return width;
}

/** The theme of the page at an element. */
export function useTheme(element: RefObject<HTMLElement | null>): Signal<Theme | undefined> {
  const theme = useSignal<Theme | undefined>(undefined);
  useEffect(
    () =>
      effect(() => {
        themeChanges.value;
        if (!element.current) return;
        const next = readTheme(element.current);
        const last = theme.peek();
        if (!last || Object.keys(next).some(key => next[key as keyof Theme] !== last[key as keyof Theme]))
          theme.value = next;
      }),
    [element, theme],
  );
  return theme;
}

/**
 * Calls `draw` in the next frame after a signal that it reads has changed, and again while it returns true. Elements
 * out of view are not drawn until they come into view.
 */
export function useDrawing(element: RefObject<HTMLElement | null>, draw: () => boolean | undefined): void {
  const latest = useRef(draw);
  latest.current = draw;
  const changes = useMemo(() => signal(0), []);
  useEffect(() => {
    changes.value += 1;
  });
  useEffect(() => {
    let frame: number | undefined;
    let stop: (() => void) | undefined;
    let isVisible = true;
    const paint = () => {
      frame = undefined;
      stop?.();
      let isFirst = true;
      stop = effect(() => {
        changes.value;
        if (!isFirst) {
          request();
          return;
        }
        isFirst = false;
        if (latest.current()) request();
      });
    };
    const request = () => {
      if (frame === undefined && isVisible) frame = requestAnimationFrame(paint);
    };
    request();
    let observer: IntersectionObserver | undefined;
    if (element.current && typeof IntersectionObserver !== "undefined") {
      observer = new IntersectionObserver(entries => {
        isVisible = entries.at(-1)?.isIntersecting ?? true;
        if (isVisible) request();
      });
      observer.observe(element.current);
    }
    return () => {
      observer?.disconnect();
      stop?.();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
  }, [element, changes]);
}
