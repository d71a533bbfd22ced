// Flows or groups as a table.

import { useMemo } from "preact/hooks";
import { type PivotRow, PivotTable, type Quantity } from "./pivot-table";
import { Segments } from "./segments";
import type { Column } from "./session";
import { flowRows, groupRows, type Row } from "./summary";

const QUANTITIES: Quantity[] = [
  { key: "goodput_bps", title: "Goodput", hasBar: true },
  { key: "loss", title: "Lost" },
  { key: "delay_mean_s", title: "Mean delay" },
  { key: "delay_p99_s", title: "99th percentile" },
  { key: "packets_marked", title: "Marked" },
];

interface SummaryProps {
  columns: readonly Column[];
  isOfGroups: boolean;
  onChange: (isOfGroups: boolean) => void;
}

export function SummaryTable({ columns, isOfGroups, onChange }: SummaryProps) {
  const results = columns.map(it => it.result.value);
  const tables = useMemo(
    () =>
      results.map(result => {
        const rows = result ? (isOfGroups ? groupRows(result) : flowRows(result)) : [];
        return new Map(rows.map(row => [row.name, pivotRow(row)]));
      }),
    [...results, isOfGroups],
  );
  const hasMarks = tables.some(table => [...table.values()].some(it => (it.values.packets_marked ?? 0) > 0));
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
      <PivotTable
        heading={isOfGroups ? "Group" : "Flow"}
        label={isOfGroups ? "Table of groups" : "Table of flows"}
        runs={columns.map(it => it.label.value)}
        tables={tables}
        quantities={hasMarks ? QUANTITIES : QUANTITIES.filter(it => it.key !== "packets_marked")}
      />
    </section>
  );
}

function pivotRow({ flows, kind, goodput_bps, loss, delay_mean_s, delay_p99_s, packets_marked }: Row): PivotRow {
  return {
    kind: flows > 1 ? `${flows} ${kind} flows` : kind,
    values: { goodput_bps, loss, delay_mean_s, delay_p99_s, packets_marked },
  };
}
