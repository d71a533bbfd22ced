// Tables of results as they are: completion times, collectives, transfers, videos, pages, pings and ports.

import { ScrollBox } from "../charts/scroll-box";
import { columnScale, numberText, titleOf } from "../charts/units";
import type { RunResult, Table } from "../engine/protocol";
import { rowCount } from "./figures";
import type { Column } from "./session";

type Shown = "completion_times" | "collectives" | "transfers" | "videos" | "pages" | "pings" | "adapters";

const TABLES: [key: Shown, title: string][] = [
  ["completion_times", "Completion times"],
  ["collectives", "Collectives"],
  ["transfers", "Transfers"],
  ["pages", "Web pages"],
  ["videos", "Videos"],
  ["pings", "Pings"],
  ["adapters", "Adapters"],
];

/** The tables that have rows, each of all disciplines. */
export function ResultTables({ columns }: { columns: readonly Column[] }) {
  return (
    <>
      {TABLES.map(([key, title]) => {
        const filled = columns.filter(it => rowCount((it.result.value as RunResult)[key]) > 0);
        return filled.length > 0 ? (
          <section class="card" key={key} aria-label={title}>
            <header class="card-head">
              <h2>{title}</h2>
            </header>
            {filled.map(column => (
              <TableOf
                key={column.contender ?? ""}
                table={(column.result.value as RunResult)[key]}
                label={columns.length > 1 ? `${title}, ${column.label.value}` : title}
                caption={columns.length > 1 ? column.label.value : undefined}
              />
            ))}
          </section>
        ) : null;
      })}
    </>
  );
}

const MOST_ROWS = 200;

interface TableProps {
  table: Table;
  label: string;
  caption?: string | undefined;
  /** Columns that are shown, in this order; all without it. */
  only?: readonly string[];
}

/** A table with a unit for each column. Columns in which every value is missing or zero are left out. */
function TableOf({ table, label, caption, only }: TableProps) {
  const known = only ? only.filter(it => it in table) : Object.keys(table);
  const columns = known.filter((it, i) => i === 0 || hasContent(table[it]));
  const rows = Math.min(rowCount(table), MOST_ROWS);
  const scales = new Map(
    columns.map(it => {
      const values = table[it];
      return [it, values instanceof Float64Array ? columnScale(it, values) : undefined] as const;
    }),
  );
  return (
    <ScrollBox label={label}>
      <table class="plain">
        {caption && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map(it => (
              <th scope="col" key={it} class={scales.get(it) ? "" : "text"}>
                {titleOf(it)} <span class="unit">{unitOf(it, scales.get(it)?.unit)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: rows }, (_, row) => (
            <tr key={row}>
              {columns.map((it, i) => {
                const value = table[it]?.[row];
                const text =
                  typeof value === "number" ? numberText(value / (scales.get(it)?.divisor ?? 1)) : (value ?? "");
                return i === 0 ? (
                  <th scope="row" key={it}>
                    {text}
                  </th>
                ) : (
                  <td key={it} class={typeof value === "number" ? "" : "text"}>
                    {text}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

function unitOf(column: string, unit: string | undefined): string {
  // The heading says it already.
  return unit === "packets" && column.startsWith("packets_") ? "" : (unit ?? "");
}

function hasContent(values: Float64Array | string[] | undefined): boolean {
  if (values instanceof Float64Array) {
    return values.some(it => it !== 0 && !Number.isNaN(it));
  }
  return values?.some(it => it !== "") ?? false;
}
