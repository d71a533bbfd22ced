// Rows of several runs in one table, with a column of each quantity for each run.

import { ScrollBox } from "../charts/scroll-box";
import { columnScale, numberText, type Scale } from "../charts/units";

export interface Quantity {
  /** Its name gives the unit. */
  key: string;
  title: string;
  hasBar?: boolean;
  /** Equal in all runs: one column is enough. */
  isCommon?: boolean;
}

export interface PivotRow {
  /** A remark behind the name. */
  kind: string | undefined;
  values: Readonly<Record<string, number>>;
}

interface PivotProps {
  heading: string;
  label: string;
  /** The names of the runs. */
  runs: readonly string[];
  /** The rows of each run by name. */
  tables: readonly ReadonlyMap<string, PivotRow>[];
  quantities: readonly Quantity[];
}

const MOST_ROWS = 200;

export function PivotTable({ heading, label, runs, tables, quantities }: PivotProps) {
  const names = [...new Set(tables.flatMap(it => [...it.keys()]))];
  const shown = names.slice(0, MOST_ROWS);
  const rows = tables.flatMap(it => [...it.values()]);
  const scales = new Map<string, Scale>();
  const largest = new Map<string, number>();
  for (const { key } of quantities) {
    const values = rows.map(it => it.values[key] ?? Number.NaN);
    scales.set(key, columnScale(key, values));
    largest.set(key, Math.max(0, ...values.filter(Number.isFinite)));
  }
  const isCompared = runs.length > 1;
  const parts = quantities.map(it => ({
    ...it,
    scale: scales.get(it.key) as Scale,
    runs: it.isCommon ? [{ run: "", table: tables[0] }] : runs.map((run, i) => ({ run, table: tables[i] })),
  }));
  return (
    <>
      <ScrollBox label={label}>
        <table class="pivot">
          <thead>
            <tr>
              <th scope="col" rowSpan={isCompared ? 2 : 1}>
                {heading}
              </th>
              {parts.map(part => (
                <th
                  scope={part.runs.length > 1 ? "colgroup" : "col"}
                  colSpan={part.runs.length}
                  rowSpan={isCompared && part.isCommon ? 2 : 1}
                  key={part.key}
                  class="first"
                >
                  {part.title} <span class="unit">{part.scale.unit}</span>
                </th>
              ))}
            </tr>
            {isCompared && (
              <tr>
                {parts
                  .filter(it => !it.isCommon)
                  .flatMap(part =>
                    part.runs.map(({ run }, i) => (
                      <th scope="col" key={`${part.key} ${run}`} class={i === 0 ? "run first" : "run"}>
                        {run}
                      </th>
                    )),
                  )}
              </tr>
            )}
          </thead>
          <tbody>
            {shown.map(name => (
              <tr key={name}>
                <th scope="row">
                  {name} <span class="kind">{tables.find(it => it.has(name))?.get(name)?.kind}</span>
                </th>
                {parts.flatMap(part =>
                  part.runs.map(({ run, table }, i) => {
                    const value = table?.get(name)?.values[part.key] ?? Number.NaN;
                    const digits = part.scale.unit === "%" ? 3 : 4;
                    return (
                      <td key={`${part.key} ${run}`} class={i === 0 ? "first" : ""}>
                        {numberText(value / part.scale.divisor, digits)}
                        {part.hasBar && (
                          <meter
                            class="bar"
                            min={0}
                            max={largest.get(part.key) || 1}
                            value={Number.isFinite(value) ? value : 0}
                            aria-hidden="true"
                          />
                        )}
                      </td>
                    );
                  }),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {names.length > shown.length && (
        <p class="nothing">
          {shown.length} of {names.length} rows.
        </p>
      )}
    </>
  );
}
