interface SegmentsProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly (readonly [Value, string])[];
  onChange: (value: Value) => void;
}

/** A choice of few. */
export function Segments<Value extends string>({ label, value, options, onChange }: SegmentsProps<Value>) {
  return (
    <fieldset class="segments">
      <legend class="sr-only">{label}</legend>
      {options.map(([name, title]) => (
        <button type="button" key={name} aria-pressed={name === value} onClick={() => onChange(name)}>
          {title}
        </button>
      ))}
    </fieldset>
  );
}
