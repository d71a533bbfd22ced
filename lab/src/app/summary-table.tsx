// Flows or groups as a table, with a column of each quantity for each discipline.

import { useMemo } from "preact/hooks";
import { ScrollBox } from "../charts/scroll-box";
import { columnScale, numberText, type Scale } from "../charts/units";
import type { Column } from "./session";
import { flowRows, groupRows, type Row } from "./summary";

interface Quantity {
  key: "goodput_bps" | "loss" | "delay_mean_s" | "delay_p99_s" | "packets_marked";
  title: string;
}

const QUANTITIES: Quantity[] = [
  { key: "goodput_bps", title: "Goodput" },
  { key: "loss", title: "Lost" },
  { key: "delay_mean_s", title: "Mean delay" },
  { key: "delay_p99_s", title: "99th percentile" },
  { key: "packets_marked", title: "Marked" },
];

const MOST_ROWS = 200;

interface SummaryProps {
  columns: readonly Column[];
  isOfGroups: boolean;
  onChange: (isOfGroups: boolean) => void;
}

export function SummaryTable({ columns, isOfGroups, onChange }: SummaryProps) {
  const results = columns.map(it => it.result.value);
  const tables = useMemo(
    () =>
      results.map(it =>
        it ? new Map((isOfGroups ? groupRows(it) : flowRows(it)).map(row => [row.name, row])) : new Map<string, Row>(),
      ),
    [...results, isOfGroups],
  );
  const names = [...new Set(tables.flatMap(it => [...it.keys()]))];
  const shown = names.slice(0, MOST_ROWS);
  const rows = tables.flatMap(it => [...it.values()]);
  const quantities = QUANTITIES.filter(it => it.key !== "packets_marked" || rows.some(row => row.packets_marked > 0));
  const scales = new Map<string, Scale>(
    quantities.map(({ key }) => [
      key,
      columnScale(
        key,
        rows.map(row => row[key]),
      ),
    ]),
  );
  const largest = Math.max(0, ...rows.map(it => it.goodput_bps));
  const isCompared = columns.length > 1;
  return (
    <section class="card" aria-labelledby="summary-title">
      <header class="card-head">
        <h2 id="summary-title">{isOfGroups ? "Groups of flows" : "Flows"}</h2>
        <Segments
          label="Rows"
          value={isOfGroups ? "group" : "flow"}
          options={[
            ["flow", "Flows"],
            ["group", "Groups"],
          ]}
          onChange={value => onChange(value === "group")}
        />
      </header>
      <ScrollBox label={isOfGroups ? "Table of groups" : "Table of flows"}>
        <table class="summary">
          <thead>
            <tr>
              <th scope="col" rowSpan={isCompared ? 2 : 1}>
                {isOfGroups ? "Group" : "Flow"}
              </th>
              {quantities.map(({ key, title }) => (
                <th scope="colgroup" colSpan={columns.length} key={key}>
                  {title} <span class="unit">{scales.get(key)?.unit}</span>
                </th>
              ))}
            </tr>
            {isCompared && (
              <tr>
                {quantities.flatMap(({ key }) =>
                  columns.map((column, i) => (
                    <th scope="col" key={`${key} ${i}`} class={i === 0 ? "first" : ""}>
                      {column.label.value}
                    </th>
                  )),
                )}
              </tr>
            )}
          </thead>
          <tbody>
            {shown.map(name => {
              const known = tables.find(it => it.has(name))?.get(name);
              return (
                <tr key={name}>
                  <th scope="row">
                    {name}
                    <span class="kind">
                      {known && known.flows > 1 ? `${known.flows} ${known.kind} flows` : known?.kind}
                    </span>
                  </th>
                  {quantities.flatMap(({ key }) =>
                    tables.map((table, i) => {
                      const value = table.get(name)?.[key];
                      const divisor = scales.get(key)?.divisor ?? 1;
                      return (
                        // biome-ignore lint/suspicious/noArrayIndexKey: columns have a fixed order
                        <td key={`${key} ${i}`} class={i === 0 ? "first" : ""}>
                          {value === undefined ? "–" : numberText(value / divisor, key === "loss" ? 3 : 4)}
                          {key === "goodput_bps" && value !== undefined && (
                            <meter class="bar" min={0} max={largest || 1} value={value} aria-hidden="true" />
                          )}
                        </td>
                      );
                    }),
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </ScrollBox>
      {names.length > shown.length && (
        <p class="nothing">
          {shown.length} of {names.length} rows. Choose groups to see all.
        </p>
      )}
    </section>
  );
}

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
