// The parts that all views have: a frame with keys and controls, a picture with a tip, and a table on demand.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useId, useRef } from "preact/hooks";
import type { Clock } from "./clock";
import { handleKey, keysFor, Playback } from "./playback";

interface ViewFrameProps {
  label: string;
  /** The keys in words. */
  keys: string;
  clock: Clock;
  hasControls: boolean;
  /** Takes a key of this view alone; returns whether it is one. */
  onKey?: (key: string) => boolean;
  children: ComponentChildren;
}

export function ViewFrame({ label, keys, clock, hasControls, onKey, children }: ViewFrameProps) {
  const help = useId();
  return (
    <section
      class="pk"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys of the view need the focus.
      tabIndex={0}
      aria-label={label}
      aria-describedby={help}
      onKeyDown={event => {
        if (keysFor(event) && (onKey?.(event.key) || handleKey(clock, event))) event.preventDefault();
      }}
    >
      <p class="pk-sr" id={help}>
        Keys: {keys}
      </p>
      {hasControls && <Playback clock={clock} />}
      {children}
    </section>
  );
}

interface PictureProps {
  box: RefObject<HTMLDivElement | null>;
  canvas: RefObject<HTMLCanvasElement | null>;
  label: string;
  /** The text of the tip at a place of the canvas; undefined for no tip. */
  tipAt: (x: number, y: number) => string | undefined;
}

/** A canvas with a tip at the pointer. */
export function Picture({ box, canvas, label, tipAt }: PictureProps) {
  const tip = useRef<HTMLDivElement>(null);
  const point = (event: PointerEvent) => {
    const area = canvas.current?.getBoundingClientRect();
    const element = tip.current;
    if (!area || !element) return;
    const x = event.clientX - area.left;
    const y = event.clientY - area.top;
    const text = tipAt(x, y);
    element.hidden = text === undefined;
    if (text === undefined) return;
    element.textContent = text;
    const left = Math.min(Math.max(x - element.offsetWidth / 2, 0), Math.max(area.width - element.offsetWidth, 0));
    element.style.transform = `translate(${Math.round(left)}px, ${Math.round(y - element.offsetHeight - 12)}px)`;
  };
  return (
    <div
      class="pk-scene"
      ref={box}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={() => {
        if (tip.current) tip.current.hidden = true;
      }}
    >
      <canvas ref={canvas} role="img" aria-label={label} />
      <div class="pk-tip" ref={tip} hidden />
    </div>
  );
}

interface TableProps {
  title?: string;
  /** The end of its name, for screen readers. */
  of: string;
  table: () => ComponentChildren;
}

/** A table that is made when the reader opens it. */
export function TableOnDemand({ title = "Table", of, table }: TableProps) {
  const isOpen = useSignal(false);
  return (
    <details
      class="pk-events"
      onToggle={event => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>
        {title}
        <span class="pk-sr"> of {of}</span>
      </summary>
      {isOpen.value && table()}
    </details>
  );
}
