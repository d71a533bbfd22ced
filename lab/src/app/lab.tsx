// The lab: a scenario, its disciplines and what they do. Pages, stories and the documentation use it.

import { effect, type Signal, untracked } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Override, Pin, RunResult } from "../engine/protocol";
import { askForChoices } from "./choices";
import { CompareBar } from "./compare-bar";
import { engine } from "./current-engine";
import type { Files } from "./engine";
import type { Panel } from "./figures";
import { Details, Display, FULL_PANELS, Results } from "./results";
import { FaultMessage, RunBar } from "./run-bar";
import { ScenarioPane } from "./scenario-pane";
import { Session } from "./session";
import "./styles/lab.css";
import { isDark } from "./theme";
import { WatchPanel } from "./watch-panel";

export type Mode = "full" | "story" | "embedded";

export interface LabProps {
  /** The scenario. Another text replaces what the reader wrote. */
  text: string;
  /** Another number replaces what the reader wrote by the same text. */
  revision?: number | undefined;
  /** Names of disciplines that replace the bottleneck's queue; without them, the scenario runs as it is written. */
  compare?: readonly string[] | undefined;
  /** The panels in their order; all of them in the mode `full`. */
  panels?: readonly Panel[] | undefined;
  mode: Mode;
  overrides?: readonly Override[] | undefined;
  /** Sliders in addition to those of the scenario. */
  pins?: readonly Pin[] | undefined;
  /** The texts of trace files that scenarios may name. */
  files?: Files | undefined;
  seed?: number | bigint | undefined;
  /** The path of the queue that the disciplines replace. Default: the bottleneck's. */
  at?: string | undefined;
  onText?: ((text: string) => void) | undefined;
  /** Called when all disciplines have run, with their results in order. */
  onResults?: ((found: { contender: string | undefined; result: RunResult }[]) => void) | undefined;
  /** Shown above the editor: a menu of examples. */
  children?: ComponentChildren;
}

export function Lab({
  text,
  revision,
  compare,
  panels,
  mode,
  overrides,
  pins,
  files,
  seed,
  at,
  onText,
  onResults,
  children,
}: LabProps) {
  const session = useMemo(() => new Session(engine, { text, compare, overrides, pins, files, seed, at }, isDark), []);
  const display = useMemo(() => new Display(), []);
  useEffect(() => {
    askForChoices();
    session.start();
    return () => session.close();
  }, [session]);
  useEffect(() => {
    session.setText(text, "replaced");
  }, [session, text, revision]);
  useReplaced(session.overrides, overrides ?? []);
  useReplaced(session.extraPins, pins ?? []);
  useReplaced(session.seed, seed === undefined ? undefined : BigInt(seed));
  useReplaced(session.placePath, at);
  useReplaced(session.contenders, compare && compare.length > 0 ? compare : [undefined]);
  const report = useRef(onResults);
  report.current = onResults;
  useEffect(
    () =>
      effect(() => {
        const found = session.columns.value.flatMap(({ contender, state, result }) =>
          state.value === "done" && result.value ? [{ contender, result: result.value }] : [],
        );
        if (found.length > 0 && found.length === session.columns.value.length) {
          untracked(() => report.current?.(found));
        }
      }),
    [session],
  );
  const shown = panels ?? FULL_PANELS;
  const isFull = mode === "full";
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut within the lab
    <div
      class={`lab lab-${mode}`}
      onKeyDown={event => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          void session.runNow();
        }
      }}
    >
      <ScenarioPane session={session} isFull={isFull} onText={onText}>
        {children}
      </ScenarioPane>
      <section class="lab-main" aria-label="Results">
        <RunBar session={session} display={display} mode={mode} panels={shown} />
        <FaultMessage session={session} />
        <CompareBar session={session} isFixed={mode === "story"} />
        <Results session={session} display={display} panels={shown} />
        <WatchPanel session={session} panels={shown} isFolded={isFull} />
        {mode !== "story" && <Details session={session} display={display} panels={shown} />}
      </section>
    </div>
  );
}

/** Sets a signal when a property has another value than before. */
function useReplaced<Value>(target: Signal<Value>, value: NoInfer<Value>): void {
  const text = typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const before = useMemo(() => ({ text }), []);
  useEffect(() => {
    if (before.text !== text) {
      target.value = value;
    }
    before.text = text;
  }, [target, text, value, before]);
}
