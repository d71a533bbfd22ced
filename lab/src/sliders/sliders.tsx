// Sliders for the numbers of a scenario. A drag changes the number in the text.

import { useId, useMemo, useRef, useState } from "preact/hooks";
import { schemaOf } from "../editor/complete";
import { splitPath } from "../editor/paths";
import { bounds, type JsonSchema } from "../editor/schema";
import type { Pin, Value } from "../engine/protocol";
import { labelOf } from "./label";
import { addPin, isPinned, isSamePath, pinsOf, removePin } from "./pins";
import { usePresentValues } from "./present-values";
import { plain } from "./quantity";
import { covers, nearestStop, type Range, rangeOf } from "./range";
import { find, setValue } from "./set-value";
import "../editor/variables.css";
import "./sliders.css";

export interface SlidersProps {
  /** The numbers of the text, or of the one before it, which may get a slider. */
  values: Value[];
  pins: Pin[];
  text: string;
  onText: (text: string) => void;
  /** Called to pin a number or to unpin it. Without it, `[lab] pins` of the text changes. */
  onPin?: ((pin: Pin) => void) | undefined;
  /** The JSON Schema of scenarios, for the bounds of numbers. */
  schema?: JsonSchema | undefined;
  /** Whether sliders can be neither added nor removed. */
  isFixed?: boolean | undefined;
}

export function Sliders({ values: known, pins: given, text, onText, onPin, schema, isFixed = false }: SlidersProps) {
  const values = usePresentValues(text, known);
  const own = useMemo(() => pinsOf(text), [text]);
  const pins = usePins(own, given, onPin !== undefined);
  const remove = (pin: Pin) => (onPin ? onPin(pin) : onText(removePin(text, pin.key)));
  const isRemovable = (pin: Pin) =>
    !isFixed && (onPin !== undefined || own.some(one => isSamePath(text, one.key, pin.key)));
  const add = (key: string) => {
    const pin = { key, from: undefined, to: undefined, label: undefined };
    return onPin ? onPin(pin) : onText(addPin(text, pin));
  };
  return (
    <section class="sliders" aria-label="Sliders">
      {pins.map(pin => (
        <Slider
          key={pin.key}
          pin={pin}
          text={text}
          onText={onText}
          onRemove={isRemovable(pin) ? () => remove(pin) : undefined}
          schema={schema}
        />
      ))}
      {!isFixed && <AddSlider values={values} pins={pins} text={text} onAdd={add} />}
    </section>
  );
}

/** The page has the pins of the text only after a check: those of its own come first, and those of the text as it is. */
function usePins(own: Pin[], given: Pin[], isOfPage: boolean): Pin[] {
  const seen = useRef(new Set<string>());
  for (const { key } of own) {
    seen.current.add(key);
  }
  return isOfPage ? given : [...given.filter(({ key }) => !seen.current.has(key)), ...own];
}

interface SliderProps {
  pin: Pin;
  text: string;
  onText: (text: string) => void;
  onRemove: (() => void) | undefined;
  schema: JsonSchema | undefined;
}

function Slider({ pin, text, onText, onRemove, schema }: SliderProps) {
  const id = useId();
  const value = find(text, pin.key);
  const { initial, isForeign, remember } = useInitial(value?.number);
  const range = useRange(pin, value, schema, isForeign);
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const label = pin.label ?? labelOf(pin.key);
  const removal = onRemove && (
    <button
      type="button"
      class="slider-button"
      title="Remove this slider"
      aria-label={`Remove the slider “${label}”`}
      onClick={onRemove}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M4 4l8 8M12 4l-8 8" />
      </svg>
    </button>
  );
  if (!value || !range) {
    return (
      <div class="slider">
        <div class="slider-head">
          <span class="slider-label" title={pin.key}>
            {label}
          </span>
          {removal}
        </div>
        <p class="slider-note">
          The scenario has no number at <code>{pin.key}</code>.
        </p>
      </div>
    );
  }
  const set = (number: number) => {
    const changed = setValue(text, value, number, range.isIntegral);
    remember(find(changed, pin.key)?.number);
    if (changed !== text) {
      onText(changed);
    }
  };
  const type = (typed: string) => {
    setDraft(typed);
    const number = Number(typed);
    if (isTyped(typed, value)) {
      set(number);
    }
  };
  const shown = draft ?? plain(value.number);
  const last = range.stops.length - 1;
  const place = nearestStop(range, value.number);
  return (
    <fieldset class="slider" aria-label={label}>
      <div class="slider-head">
        <label class="slider-label" for={`${id}-range`} title={pin.key}>
          {label}
        </label>
        <input
          class="slider-number"
          type="number"
          step="any"
          aria-label={`${label}${value.unit && `, in ${value.unit}`}`}
          aria-invalid={draft !== undefined && !isTyped(draft, value)}
          value={shown}
          onInput={event => type(event.currentTarget.value)}
          onBlur={() => setDraft(undefined)}
        />
        <span class="slider-unit" aria-hidden="true">
          {value.unit}
        </span>
        <button
          type="button"
          class="slider-button"
          title={`Back to ${quantity(initial, value.unit)}`}
          aria-label={`Set “${label}” back to ${quantity(initial, value.unit)}`}
          disabled={value.number === initial}
          onClick={() => set(initial)}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M3.5 6.5A5 5 0 1 1 3 9.5M3 3v3.7h3.7" />
          </svg>
        </button>
        {removal}
      </div>
      <div class="slider-track">
        <span aria-hidden="true">{short(range.from)}</span>
        <input
          id={`${id}-range`}
          type="range"
          min={0}
          max={last}
          step={1}
          value={place}
          disabled={last === 0}
          aria-valuetext={quantity(value.number, value.unit)}
          onInput={event => {
            setDraft(undefined);
            set(range.stops[Number(event.currentTarget.value)] ?? value.number);
          }}
        />
        <span aria-hidden="true">{short(range.to)}</span>
      </div>
    </fieldset>
  );
}

/** Whether the typed text is a number that this value can have. */
function isTyped(typed: string, value: Value): boolean {
  const number = Number(typed);
  return typed.trim() !== "" && Number.isFinite(number) && (value.unit === "" || number >= 0);
}

/** The last number that did not come from this slider: it was there before, or the text was changed elsewhere. */
function useInitial(number: number | undefined) {
  const initial = useRef(number);
  const own = useRef<number | undefined>(undefined);
  const isForeign = number !== own.current;
  if (isForeign) {
    initial.current = number;
    own.current = undefined;
  }
  const remember = (set: number | undefined) => {
    own.current = set;
  };
  return { initial: initial.current ?? 0, isForeign, remember };
}

/** The range, which stays as it is while the slider moves inside. */
function useRange(
  pin: Pin,
  value: Value | undefined,
  schema: JsonSchema | undefined,
  isForeign: boolean,
): Range | undefined {
  const kept = useRef<{ key: string; number: number; range: Range } | undefined>(undefined);
  if (!value) {
    return undefined;
  }
  const own = schema && value.unit === "" ? boundsAt(schema, pin.key) : undefined;
  const key = JSON.stringify([pin, value.unit, own]);
  const isBound = pin.from !== undefined && pin.to !== undefined;
  const isOther = kept.current?.key !== key || (isForeign && kept.current.number !== value.number);
  if (!kept.current || isOther || (!isBound && !covers(kept.current.range, value.number))) {
    kept.current = { key, number: value.number, range: rangeOf(value, pin, own) };
  }
  return kept.current.range;
}

/** The bounds of the number at a path; names and numbers are elements of lists where the schema has a list. */
function boundsAt(root: JsonSchema, path: string) {
  const schema = schemaOf(root);
  let described = schema.at([]);
  for (const key of splitPath(path)) {
    const { alternatives } = described ?? { alternatives: [] };
    described = schema.step(alternatives, key) ?? schema.step(alternatives, 0);
  }
  return described && bounds(described.alternatives);
}

function quantity(number: number, unit: string): string {
  return unit ? `${plain(number)} ${unit}` : plain(number);
}

function short(number: number): string {
  return Math.abs(number) >= 1e6 || (number !== 0 && Math.abs(number) < 1e-4)
    ? number.toExponential().replace("e+", "e")
    : String(number);
}

interface AddSliderProps {
  values: Value[];
  pins: Pin[];
  text: string;
  onAdd: (path: string) => void;
}

/** All numbers of the text that have no slider. */
function AddSlider({ values, pins, text, onAdd }: AddSliderProps) {
  const hasPin = isPinned(text, pins);
  const free = values.filter(value => !hasPin(value));
  if (free.length === 0) {
    return null;
  }
  const groups = new Map<string, Value[]>();
  for (const value of free) {
    const name = groupOf(value.path);
    groups.set(name, [...(groups.get(name) ?? []), value]);
  }
  return (
    <select
      class="slider-add"
      aria-label="Add a slider"
      value=""
      onChange={event => {
        const path = event.currentTarget.value;
        event.currentTarget.value = "";
        if (path) {
          onAdd(path);
        }
      }}
    >
      <option value="">Add a slider…</option>
      {[...groups].map(([name, members]) => (
        <optgroup key={name} label={name}>
          {members.map(({ path, text: written }) => (
            <option key={path} value={path}>
              {`${inGroup(path, name)} = ${written.replace(/^["']+|["']+$/g, "")}`}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}

function groupOf(path: string): string {
  const [first = "", second = ""] = splitPath(path);
  return first === "flows" || first === "topology" ? `${first}.${second}` : "scenario";
}

function inGroup(path: string, group: string): string {
  return path.startsWith(`${group}.`) ? path.slice(group.length + 1) : path;
}
