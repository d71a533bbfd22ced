// The state of the runs, and what can be done about them.

import { effect, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { textWithUnit } from "../charts/units";
import { encodeShared, linkOf } from "../share/link";
import type { Panel } from "./figures";
import type { Mode } from "./lab";
import { type Display, headlineOf, isGrouped, NONE } from "./results";
import { Segments } from "./segments";
import type { Session } from "./session";
import { figuresOfRun } from "./summary";

interface BarProps {
  session: Session;
  display: Display;
  mode: Mode;
  panels: readonly Panel[];
}

/** Panels with a line for each flow, or for each group. */
const OF_FLOWS: Panel[] = ["goodput", "marks", "senders"];

export function RunBar({ session, display, mode, panels }: BarProps) {
  const isRunning = session.isLong.value;
  const facts = session.facts.value;
  const zoom = session.timeView.zoom.value ?? session.delayView.zoom.value;
  const hasLines = panels.some(it => OF_FLOWS.includes(it));
  const hasChoice = hasLines && facts !== undefined && facts.flow_count > (facts.plan?.groups.length ?? 0);
  return (
    <div class={mode === "story" ? "run-bar is-plain" : "run-bar"}>
      {isRunning ? (
        <button type="button" class="primary" onClick={() => session.cancel()}>
          Cancel
        </button>
      ) : mode === "story" ? null : (
        <button type="button" class="primary" onClick={() => session.runNow()} aria-keyshortcuts="Control+Enter">
          Run
        </button>
      )}
      <progress
        class={isRunning ? "run-progress" : "run-progress is-idle"}
        max={1}
        value={session.fraction.value}
        aria-label="Progress of the run"
      />
      <Status session={session} />
      <div class="run-options">
        {zoom && (
          <button
            type="button"
            onClick={() => {
              session.timeView.zoom.value = undefined;
              session.delayView.zoom.value = undefined;
            }}
          >
            Show all
          </button>
        )}
        {hasChoice && (
          <Segments
            label="Lines of charts"
            value={isGrouped(session, display) ? "group" : "flow"}
            options={[
              ["flow", "By flow"],
              ["group", "By group"],
            ]}
            onChange={value => {
              display.grouping.value = value;
            }}
          />
        )}
        {session.contenders.value.length > 1 && (
          <Segments
            label="Charts of a comparison"
            value={display.isTogether.value ? "together" : "columns"}
            options={[
              ["columns", "Side by side"],
              ["together", "Together"],
            ]}
            onChange={value => {
              display.isTogether.value = value === "together";
            }}
          />
        )}
        {mode !== "full" && (
          <button type="button" onClick={() => openInLab(session, mode)}>
            Open in the lab
          </button>
        )}
        {mode === "full" && (
          <>
            <Seed session={session} />
            <label class="check">
              <input
                type="checkbox"
                checked={session.isAutomatic.value}
                onChange={event => {
                  session.isAutomatic.value = event.currentTarget.checked;
                }}
              />{" "}
              Run on change
            </label>
          </>
        )}
      </div>
    </div>
  );
}

/** Shows the scenario as it is now in the lab. A page within another one opens a window for it. */
function openInLab(session: Session, mode: Mode): void {
  const { code } = encodeShared(session.shared());
  if (code !== undefined) {
    const link = linkOf(code, location.href);
    if (mode === "embedded") {
      open(link, "_blank", "noopener");
    } else {
      location.href = link;
    }
  }
}

/** The state in words. */
function Status({ session }: { session: Session }) {
  const warmup_s = session.facts.value?.warmup_s ?? 0;
  const measured = warmup_s > 0 ? `Figures count from ${textWithUnit("time_s", warmup_s)} on` : undefined;
  return (
    <>
      <span class="run-status" title={measured}>
        {statusOf(session)}
      </span>
      <Announcement session={session} />
    </>
  );
}

function statusOf(session: Session): string {
  const columns = session.columns.value;
  const states = columns.map(it => it.state.value);
  const facts = session.facts.value;
  if (session.fault.value) {
    return "The scenario has a fault";
  }
  if (columns.length === 0 || !facts) {
    return session.isChanged.value ? "Ready" : "Starting the engine";
  }
  const isFirst = columns.some(it => it.result.value === undefined);
  if (session.isLong.value || (session.isRunning.value && isFirst)) {
    return "Running";
  }
  if (states.includes("failed")) {
    return "The run failed";
  }
  if (states.includes("cancelled")) {
    return "Cancelled";
  }
  if (session.isChanged.value) {
    return "Changed since the last run";
  }
  const wall = Math.max(...columns.map(it => it.wall_ms.value));
  return `${textWithUnit("time_s", facts.duration_s)} simulated in ${textWithUnit("time_s", wall / 1e3)}`;
}

/** Runs follow each other while a slider moves: screen readers hear of the one after which nothing changes. */
const QUIET_MS = 1200;

function Announcement({ session }: { session: Session }) {
  const text = useSignal("");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = effect(() => {
      const columns = session.columns.value;
      const queues = session.place.value?.queues ?? NONE;
      const said = columns.map(({ label, state, result }) =>
        state.value === "done" && result.value
          ? `${label.value}: ${headlineOf(figuresOfRun(result.value, queues))}`
          : `${label.value}: ${state.value}`,
      );
      clearTimeout(timer);
      timer = setTimeout(() => {
        text.value = said.join(". ");
      }, QUIET_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [session, text]);
  return <output class="sr-only">{text.value}</output>;
}

/** The seed of the runs; empty: that of the scenario. */
function Seed({ session }: { session: Session }) {
  const seed = session.seed.value;
  return (
    <label class="seed">
      Seed{" "}
      <input
        type="text"
        inputMode="numeric"
        pattern="[0-9]*"
        maxLength={20}
        placeholder={String(session.facts.value?.seed ?? 1)}
        value={seed === undefined ? "" : String(seed)}
        onInput={event => {
          const digits = event.currentTarget.value.replace(/[^0-9]/g, "");
          event.currentTarget.value = digits;
          const value = digits === "" ? undefined : BigInt(digits);
          session.seed.value = value !== undefined && value < 2n ** 64n ? value : undefined;
        }}
      />
    </label>
  );
}

/** The fault of the text, or those of runs. */
export function FaultMessage({ session }: { session: Session }) {
  const columns = session.columns.value;
  const failed = columns.flatMap(({ state, fault, label }) =>
    state.value === "failed" && fault.value ? [{ fault: fault.value, of: columns.length > 1 ? label.value : "" }] : [],
  );
  const ofText = session.fault.value;
  const shown = ofText ? [{ fault: ofText, of: "" }] : failed;
  if (shown.length === 0) {
    return null;
  }
  return (
    <div class="fault" role="alert">
      {shown.map(({ fault, of }) => (
        <div key={of}>
          <p>
            {of && `${of}: `}
            <strong>{fault.message}</strong>
            {fault.label && `: ${fault.label}`}
          </p>
          {fault.help && <p class="help">{fault.help}</p>}
        </div>
      ))}
      {columns.some(it => it.result.value) && <p class="help">The charts show the last runs that succeeded.</p>}
    </div>
  );
}
