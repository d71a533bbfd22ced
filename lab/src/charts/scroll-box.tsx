import type { ComponentChildren } from "preact";

/** A region that scrolls when its content is too large, with the keyboard, too. */
export function ScrollBox({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it
    <section class="scroll-box" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
