// The goodput of each flow of a group as bars: who starves, and how many.

import { numbersOf, textsOf } from "../app/summary";
import { textWithUnit } from "../charts/units";
import type { RunResult } from "../engine/protocol";

export interface Starving {
  group: string;
  below_bps: number;
}

/** The goodput of each flow of the group, the largest first. */
export function sharesOf(result: RunResult, group: string): number[] {
  const groups = textsOf(result.flows, "group");
  const goodputs = numbersOf(result.flows, "goodput_bps");
  return [...goodputs].filter((_, i) => groups[i] === group).sort((a, b) => b - a);
}

const HEIGHT = 60;
const PITCH = 10;

export function Shares({ result, starving }: { result: RunResult; starving: Starving }) {
  const shares = sharesOf(result, starving.group);
  const count = shares.filter(it => it < starving.below_bps).length;
  const most = Math.max(1, shares[0] ?? 0);
  const width = Math.max(1, shares.length) * PITCH;
  const said = `${count} of the ${shares.length} ${starving.group} get less than ${textWithUnit("goodput_bps", starving.below_bps)}`;
  return (
    <figure class="shares">
      <figcaption>
        <strong>{count}</strong>
        {said.slice(String(count).length)}.<span class="shares-most">Most: {textWithUnit("goodput_bps", most)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={said}>
        {shares.map((share, i) => {
          const isStarving = share < starving.below_bps;
          const height = isStarving ? HEIGHT : Math.max(1, (share / most) * HEIGHT);
          return (
            <rect
              key={i}
              class={isStarving ? "is-starving" : undefined}
              x={i * PITCH + 1}
              y={HEIGHT - height}
              width={PITCH - 2}
              height={height}
            />
          );
        })}
      </svg>
      <p class="shares-note">A bar for each flow, the largest first. Shaded flows starve.</p>
    </figure>
  );
}
