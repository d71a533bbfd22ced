import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Clock } from "./clock";
import { timeText } from "./playback";

const INTERVAL_MS = 5000;
const PAUSE_MS = 250;

/** The state for screen readers: after each step, and every few seconds while the clock runs. */
export function LiveText({ clock, text }: { clock: Clock; text: (time_s: number) => string }) {
  const shown = useSignal("");
  const last_ms = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => () => clearTimeout(timer.current), []);
  useSignalEffect(() => {
    const time_s = clock.time_s.value;
    const isPlaying = clock.isPlaying.value;
    const jumps = clock.jumps.value;
    const now_ms = performance.now();
    if (jumps === 0 && !isPlaying) return;
    if (isPlaying && now_ms - last_ms.current < INTERVAL_MS) return;
    last_ms.current = now_ms;
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => {
        shown.value = `t = ${timeText(clock, time_s)}: ${latest.current(time_s)}`;
      },
      isPlaying ? 0 : PAUSE_MS,
    );
  });
  return (
    <p class="pk-sr" aria-live="polite">
      {shown.value}
    </p>
  );
}
