// The disciplines of a comparison: one card for each, with a menu and the figures of its run.

import { useId } from "preact/hooks";
import type { Choice } from "../engine/protocol";
import { choices as known } from "./choices";
import { Headline } from "./results";
import { type Column, type Contender, MOST_CONTENDERS, type Session } from "./session";

interface CompareProps {
  session: Session;
  /** Whether the disciplines cannot be changed. */
  isFixed: boolean;
}

export function CompareBar({ session, isFixed }: CompareProps) {
  const choices = known.value;
  const contenders = session.contenders.value;
  const columns = session.columns.value;
  const places = session.places.value;
  const place = session.place.value;
  const change = (index: number, contender: Contender) => {
    session.contenders.value = contenders.map((it, i) => (i === index ? contender : it));
  };
  const taken = (contender: Contender) => contenders.includes(contender);
  const written = place?.discipline ? `${place.discipline}, as written` : "as written";
  return (
    <section class="compare" aria-label="Disciplines">
      <div class={`compare-cards cards-${contenders.length}`}>
        {contenders.map((contender, i) => (
          <article class="compare-card" key={contender ?? ""}>
            <header>
              {isFixed || places.length === 0 ? (
                <b class="discipline-name">{contender ?? place?.discipline ?? written}</b>
              ) : (
                <DisciplineMenu
                  label={contenders.length > 1 ? `Discipline ${i + 1}` : "Discipline"}
                  value={contender}
                  written={written}
                  choices={choices}
                  isTaken={it => it !== contender && taken(it)}
                  onChange={it => change(i, it)}
                />
              )}
              {columns[i] && <ColumnState column={columns[i] as Column} />}
              {contenders.length > 1 && !isFixed && (
                <button
                  type="button"
                  class="icon"
                  aria-label={`Remove ${contender ?? written}`}
                  onClick={() => {
                    session.contenders.value = contenders.filter((_, other) => other !== i);
                  }}
                >
                  ×
                </button>
              )}
            </header>
            {columns[i] && <Headline session={session} column={columns[i] as Column} />}
          </article>
        ))}
      </div>
      {!isFixed && (
        <div class="compare-more">
          {contenders.length < MOST_CONTENDERS && choices.length > 0 && places.length > 0 && (
            <AddMenu
              choices={choices}
              isTaken={taken}
              written={written}
              onAdd={it => {
                session.contenders.value = [...contenders, it];
              }}
            />
          )}
          {places.length > 1 && (
            <label>
              at{" "}
              <select
                value={place?.path}
                onChange={event => {
                  session.placePath.value = event.currentTarget.value;
                }}
              >
                {places.slice(0, 100).map(it => (
                  <option key={it.path} value={it.path}>
                    {it.name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
      )}
    </section>
  );
}

interface MenuProps {
  label: string;
  value: Contender;
  written: string;
  choices: readonly Choice[];
  isTaken: (contender: Contender) => boolean;
  onChange: (contender: Contender) => void;
}

function DisciplineMenu({ label, value, written, choices, isTaken, onChange }: MenuProps) {
  const id = useId();
  return (
    <>
      <label class="sr-only" for={id}>
        {label}
      </label>
      <select
        id={id}
        class="discipline"
        value={value ?? ""}
        onChange={event => onChange(event.currentTarget.value || undefined)}
        title={choices.find(it => it.name === value)?.summary}
      >
        <option value="" disabled={isTaken(undefined)}>
          {written}
        </option>
        <DisciplineOptions choices={choices} isTaken={isTaken} />
      </select>
    </>
  );
}

interface AddProps {
  choices: readonly Choice[];
  isTaken: (contender: Contender) => boolean;
  written: string;
  onAdd: (contender: Contender) => void;
}

function AddMenu({ choices, isTaken, written, onAdd }: AddProps) {
  return (
    <label class="add">
      <span class="sr-only">Compare with another discipline</span>
      <select
        value="none"
        onChange={event => {
          const { value } = event.currentTarget;
          event.currentTarget.value = "none";
          onAdd(value || undefined);
        }}
      >
        <option value="none" disabled hidden>
          + Compare with…
        </option>
        {!isTaken(undefined) && <option value="">{written}</option>}
        <DisciplineOptions choices={choices} isTaken={isTaken} />
      </select>
    </label>
  );
}

/** The lists of the guide. */
const GROUPS: Record<string, string> = {
  one_queue: "One queue, without regard to flows",
  containment: "One queue that contains unresponsive flows",
  fair_queueing: "A queue for each flow",
  classes: "Classes",
};

/** The disciplines as options of a menu, in the groups of the guide. */
export function DisciplineOptions({
  choices,
  isTaken,
}: {
  choices: readonly Choice[];
  isTaken: (contender: Contender) => boolean;
}) {
  const groups = [...new Set(choices.map(it => it.group))];
  return (
    <>
      {groups.map(group => (
        <optgroup key={group} label={GROUPS[group ?? ""] ?? "Others"}>
          {choices
            .filter(it => it.group === group)
            .map(it => (
              <option key={it.name} value={it.name} disabled={isTaken(it.name)}>
                {it.name} · {headOf(it.summary)}
              </option>
            ))}
        </optgroup>
      ))}
    </>
  );
}

/** The name of a discipline out of its summary: the part before the colon. */
function headOf(summary: string): string {
  return summary.split(":", 1)[0] ?? summary;
}

function ColumnState({ column }: { column: Column }) {
  const state = column.state.value;
  const texts = {
    waiting: "waiting",
    running: `${Math.round(100 * column.fraction.value)} %`,
    done: `${Math.round(column.wall_ms.value)} ms`,
    failed: "failed",
    cancelled: "cancelled",
  };
  return <span class={`state state-${state}`}>{texts[state]}</span>;
}
