// Counts as bars: drops by their reasons, and marks.

import { useMemo } from "preact/hooks";
import { numberText } from "../charts/units";
import type { Panel } from "./figures";
import type { Column, Session } from "./session";
import { flowRows, groupRows, numbersOf, reasonsOf } from "./summary";

interface Bar {
  name: string;
  packets: number;
}

interface BarsProps {
  panel: Panel;
  session: Session;
  column: Column;
  isGrouped: boolean;
  /** The discipline, where the chart is in no column of it. */
  context?: string;
}

const NONE: string[] = [];

/** The bars of a panel that has some. */
export function BarsOf({ panel, session, column, isGrouped, context }: BarsProps) {
  const result = column.result.value;
  const queues = session.place.value?.queues ?? NONE;
  const bars = useMemo<Bar[]>(() => {
    if (!result || (panel !== "drops" && panel !== "marks")) {
      return [];
    }
    if (panel === "drops") {
      return reasonsOf(result, queues);
    }
    const rows = isGrouped ? groupRows(result) : flowRows(result);
    return rows.map(it => ({ name: it.name, packets: it.packets_marked })).filter(it => it.packets > 0);
  }, [panel, result, queues, isGrouped]);
  if (panel === "drops" && result) {
    return (
      <Bars context={context} title="Drops by reason" heading="Reason" bars={bars} instead="No packet was dropped." />
    );
  }
  if (panel === "marks" && result && hasMarks(column)) {
    const heading = isGrouped ? "Group" : "Flow";
    return (
      <Bars context={context} title="Marks" heading={heading} bars={bars} instead="No packet of a flow was marked." />
    );
  }
  return null;
}

/** Whether a queue marked packets in the measured time. */
export function hasMarks(column: Column): boolean {
  const result = column.result.value;
  return result !== undefined && numbersOf(result.queues, "packets_marked").some(it => it > 0);
}

interface ListProps {
  title: string;
  context: string | undefined;
  heading: string;
  bars: readonly Bar[];
  /** Shown where there are no bars. */
  instead: string;
}

function Bars({ title, context, heading, bars, instead }: ListProps) {
  const most = Math.max(1, ...bars.map(it => it.packets));
  return (
    <figure class="chart bars">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="chart-unit" title="after the warm-up">
          packets
        </span>
        {context && <span class="chart-context">{context}</span>}
      </figcaption>
      {bars.length === 0 ? (
        <p class="nothing">{instead}</p>
      ) : (
        <table>
          <thead class="sr-only">
            <tr>
              <th scope="col">{heading}</th>
              <th scope="col">Packets</th>
            </tr>
          </thead>
          <tbody>
            {bars.map(({ name, packets }) => (
              <tr key={name}>
                <th scope="row">
                  {name}
                  <meter class="bar" min={0} max={most} value={packets} aria-hidden="true" />
                </th>
                <td>{numberText(packets, 6)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </figure>
  );
}
