// The looks of flows: the colors of the charts' lines, which readers with color blindness tell apart.

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b8588f", "#c98500", "#3a9fd6", "#3d444b"];
const DARK = ["#4da9e6", "#ff8b4d", "#2cc79a", "#e59bc6", "#f0b840", "#8fd6ff", "#c9d0d6"];

export const LOOKS = LIGHT.length;

export interface FlowLook {
  color: string;
  /** Has the same color as another flow, so it gets a stripe. */
  isStriped: boolean;
}

/** The look with that number: all colors without a stripe, then all with one. */
export function flowLook(look: number, isDark: boolean): FlowLook {
  return {
    color: (isDark ? DARK : LIGHT)[look % LOOKS] as string,
    isStriped: Math.floor(look / LOOKS) % 2 === 1,
  };
}
