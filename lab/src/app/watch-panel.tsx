// Packets one by one, the matchings of crossbars, and PAUSE: from what a run records in a short time.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { numberText, scaleOf, textWithUnit } from "../charts/units";
import type { RunResult } from "../engine/protocol";
import type { Panel } from "./figures";
import { flowOrder, groupNames } from "./figures";
import { Watching } from "./parts";
import { subjectOf } from "./results";
import type { Session } from "./session";
import { linksToWatch, watchOf } from "./watching";

const WATCH_PANELS: readonly Panel[] = ["packets", "crossbar", "pause"];

interface WatchProps {
  session: Session;
  panels: readonly Panel[];
  /** Whether the reader opens the views; else they are open. */
  isFolded: boolean;
}

/** Asks for the records of a run, and shows them. */
export function WatchPanel({ session, panels, isFolded }: WatchProps) {
  const isOpen = useSignal(!isFolded);
  const from_s = useSignal<number | undefined>(undefined);
  const chosen = panels.filter(it => WATCH_PANELS.includes(it));
  const isWanted = chosen.length > 0 && isOpen.value;
  const from = from_s.value;
  const facts = session.facts.value;
  const busiest = facts ? linksToWatch(facts, session.place.value, session.columns.value[0]?.result.value) : [];
  // A run of another scenario may find other links busy: then they are recorded in one more run.
  const key = JSON.stringify(busiest);
  useEffect(() => {
    session.watch.value = isWanted ? it => watchOf(it, JSON.parse(key) as string[], from) : undefined;
  }, [session, isWanted, from, key]);
  if (chosen.length === 0) {
    return null;
  }
  const views = <WatchViews session={session} panels={chosen} />;
  if (!isFolded) {
    return views;
  }
  return (
    <details class="card watch" onToggle={event => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <h2>Packets one by one</h2>
        <span class="watch-hint">the queue in slow motion, crossbars and PAUSE</span>
      </summary>
      {isOpen.value && (
        <>
          <WatchTime session={session} onFrom={it => (from_s.value = it)} />
          {views}
        </>
      )}
    </details>
  );
}

interface TimeProps {
  session: Session;
  onFrom: (from_s: number) => void;
}

function WatchTime({ session, onFrom }: TimeProps) {
  const facts = session.facts.value;
  if (!facts) {
    return null;
  }
  const watch = session.watch.value?.(facts);
  if (!watch) {
    return null;
  }
  const { divisor, unit } = scaleOf("time_s", facts.duration_s);
  const zoom = session.timeView.zoom.value;
  return (
    <p class="watch-time">
      <label>
        From{" "}
        <input
          type="number"
          min={0}
          max={facts.duration_s / divisor}
          step="any"
          value={Number(numberText(watch.from_s / divisor).replaceAll(",", ""))}
          onChange={event => {
            const value = event.currentTarget.valueAsNumber;
            if (Number.isFinite(value)) {
              onFrom(value * divisor);
            }
          }}
        />{" "}
        {unit}
      </label>
      <span>for {textWithUnit("time_s", watch.to_s - watch.from_s)}</span>
      {zoom && (
        <button type="button" onClick={() => onFrom(zoom[0])}>
          From the start of the zoom
        </button>
      )}
    </p>
  );
}

function WatchViews({ session, panels }: { session: Session; panels: readonly Panel[] }) {
  const columns = session.columns.value;
  const results = columns.map(it => it.result.value);
  const labels = columns.map(it => it.label.value);
  const first = columns[0];
  const subject = first && subjectOf(session, first);
  const order = useMemo(() => (subject?.result ? flowOrder(subject) : []), [subject?.result]);
  const watched = useMemo(
    () =>
      results.flatMap((result: RunResult | undefined, i) =>
        result?.watched ? [{ label: labels[i] ?? "", watched: result.watched }] : [],
      ),
    [...results, ...labels],
  );
  return watched.length > 0 ? (
    <Watching watched={watched} panels={panels} order={order} groups={subject ? groupNames(subject.facts) : []} />
  ) : (
    <p class="nothing">{session.isRunning.value ? "Recording…" : "Nothing was recorded."}</p>
  );
}
