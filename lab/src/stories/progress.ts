// Steps whose answer the reader has seen. The browser keeps them, if it may.

import { type ReadonlySignal, signal } from "@preact/signals";

const KEY = "forebay-lab-stories";

const steps = signal<ReadonlySet<string>>(read());

function read(): Set<string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return new Set(Array.isArray(stored) ? stored.filter(it => typeof it === "string") : []);
  } catch {
    return new Set();
  }
}

/** The seen steps, as `NAME/STEP`. */
export const seenSteps: ReadonlySignal<ReadonlySet<string>> = steps;

export function markSeen(name: string, step: number): void {
  const key = `${name}/${step}`;
  if (steps.peek().has(key)) {
    return;
  }
  steps.value = new Set([...steps.peek(), key]);
  try {
    localStorage.setItem(KEY, JSON.stringify([...steps.peek()]));
  } catch {
    // Without storage, the marks last as long as the page.
  }
}
