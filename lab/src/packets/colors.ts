import { lookOf } from "../charts/palette";

/** The look of a flow's packets: the color of its line in the charts. */
export interface FlowLook {
  color: string;
  /** Packets get a stripe where lines get dashes: another flow has the same color. */
  isStriped: boolean;
}

export function flowLook(look: number, isDark: boolean): FlowLook {
  const { color, dash } = lookOf(look, isDark);
  return { color, isStriped: dash.length > 0 };
}
