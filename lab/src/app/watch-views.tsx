import { useMemo } from "preact/hooks";
import type { Watched } from "../engine/protocol";
import { Clock, CrossbarView, PacketView, PauseView, Playback } from "../packets";
import type { Panel } from "./figures";

export interface WatchViewsProps {
  watched: readonly { label: string; watched: Watched }[];
  panels: readonly Panel[];
  /** The flows in the order of their looks. */
  order: readonly string[];
  /** The groups in the order of their looks. */
  groups: readonly string[];
}

/** The views of what was recorded, on one clock. */
export function WatchViews({ watched, panels, order, groups }: WatchViewsProps) {
  const clock = useMemo(() => new Clock(), []);
  const isCompared = watched.length > 1;
  const named = (label: string, part: string, hasSeveral: boolean) =>
    isCompared ? (hasSeveral ? `${label}, ${part}` : label) : part;
  const packets = useMemo(
    () =>
      watched.flatMap(({ label, watched: it }) =>
        it.packets.map(log => ({
          label: named(label, log.link, it.packets.length > 1),
          log,
          pauses: it.pauses.filter(pause => pause.link === log.link),
        })),
      ),
    [watched],
  );
  const crossbars = useMemo(
    () =>
      watched.flatMap(({ label, watched: it }) =>
        it.crossbars.map(log => ({ label: named(label, log.node, it.crossbars.length > 1), log })),
      ),
    [watched],
  );
  const lookOf = useMemo(() => {
    const looks = new Map(order.map((name, i) => [name, i]));
    return (flow: string) => looks.get(flow);
  }, [order]);
  const hasPackets = panels.includes("packets") && packets.length > 0;
  const hasCrossbars = panels.includes("crossbar") && crossbars.length > 0;
  const paused = panels.includes("pause") ? watched.filter(it => it.watched.pauses.length > 0) : [];
  if (!hasPackets && !hasCrossbars && paused.length === 0) {
    const isPauseOnly = !panels.includes("packets") && !panels.includes("crossbar");
    return (
      <p class="nothing">{isPauseOnly ? "No link was stopped in this time." : "No packet passed in this time."}</p>
    );
  }
  return (
    <div class="watch-views pk">
      <Playback clock={clock} />
      {hasPackets && <PacketView runs={packets} clock={clock} lookOf={lookOf} groups={groups} />}
      {hasCrossbars && <CrossbarView runs={crossbars} clock={clock} />}
      {paused.map(({ label, watched: it }) => (
        <PauseView key={label} logs={it.pauses} label={isCompared ? label : undefined} clock={clock} />
      ))}
    </div>
  );
}
