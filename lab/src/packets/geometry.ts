/** How the queue is drawn: `row` and `cells` show each packet, `columns` several packets in one column. */
export type Shape = "row" | "cells" | "columns" | "lanes";

/** The reader's choice: `auto` takes `row`, `cells` or `columns`, whichever fits. */
export type Arrangement = "auto" | "compact" | "lanes";

/** The largest contents of the queues that are drawn to one scale. */
export interface Extent {
  packets: number;
  bytes: number;
  largestPacket: number;
  /** For lanes: each flow's largest number of bytes, the names of the flows that have a lane of their own. */
  laneBytes: number;
  lanes: readonly string[];
  /** Flows without a lane of their own share one. */
  hasOtherLane: boolean;
}

export interface Geometry {
  shape: Shape;
  width: number;
  height: number;
  /** The room of the queue: its head is at the right. */
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** A packet in transmission leaves the port at `link`. */
  port: number;
  link: number;
  middle: number;
  /** The width of a byte at the port and on the link. */
  linkScale: number;
  packetHeight: number;
  /** The width of a byte in the queue: `row` and `lanes`. */
  scale: number;
  /** The side of a cell and the cells of a column: `cells`. */
  cell: number;
  rows: number;
  /** The width of a column and the packets in it: `columns`. */
  column: number;
  packetsPerColumn: number;
  laneHeight: number;
  /** The line onto which dropped packets fall. */
  floor: number;
}

const HEAD = 26;
const DROP_ROOM = 58;
const ROW_HEIGHT = 30;
const LEAST_ROW_PACKET = 8;
const LARGEST_CELL = 18;
const LEAST_CELL = 4;
const COLUMN = 3;
const COLUMNS_HEIGHT = 104;
export const LANE_LABEL = 92;

/** The room for the parts of the picture of a queue. */
export function arrange(width: number, arrangement: Arrangement, extent: Extent): Geometry {
  const isNarrow = width < 520;
  const largest = Math.max(extent.largestPacket, 1);
  const packetWidth = Math.round(Math.min(Math.max(width * 0.045, 22), 44));
  const linkWidth = Math.round(Math.min(Math.max(width * 0.24, 84), 340));
  const link = width - linkWidth;
  const port = link - packetWidth - 6;
  const left = Math.round(Math.min(Math.max(width * 0.085, 26), 110));
  const right = port - 8;
  const room = Math.max(right - left, 20);
  const geometry: Geometry = {
    shape: "row",
    width,
    height: 0,
    left,
    right,
    top: HEAD,
    bottom: 0,
    port,
    link,
    middle: 0,
    linkScale: packetWidth / largest,
    packetHeight: ROW_HEIGHT - 4,
    scale: Math.min(packetWidth / largest, room / Math.max(extent.bytes, 1)),
    cell: 0,
    rows: 1,
    column: COLUMN,
    packetsPerColumn: 1,
    laneHeight: 0,
    floor: 0,
  };
  let height = ROW_HEIGHT;
  const packets = Math.max(extent.packets, 1);
  const fitting = fittingCell(packets, room, isNarrow ? 112 : 128);
  if (arrangement === "lanes") {
    const count = Math.max(extent.lanes.length + (extent.hasOtherLane ? 1 : 0), 1);
    geometry.shape = "lanes";
    geometry.laneHeight = count > 6 ? 17 : 22;
    geometry.scale = Math.min((packetWidth * 0.6) / largest, (room - LANE_LABEL) / Math.max(extent.laneBytes, 1));
    height = count * geometry.laneHeight;
  } else if (arrangement === "auto" && geometry.scale * largest >= LEAST_ROW_PACKET) {
    geometry.shape = "row";
  } else if (arrangement === "auto" && fitting) {
    geometry.shape = "cells";
    geometry.cell = fitting.cell;
    geometry.rows = fitting.rows;
    height = fitting.cell * fitting.rows;
  } else {
    geometry.shape = "columns";
    geometry.packetsPerColumn = Math.ceil(packets / Math.floor(room / COLUMN));
    height = COLUMNS_HEIGHT;
  }
  // The queue's room is never lower than the port.
  const spare = Math.max(ROW_HEIGHT + 10 - height, 8) / 2;
  geometry.top = HEAD + spare + (geometry.shape === "columns" ? 10 : 0);
  geometry.bottom = geometry.top + height;
  geometry.middle = (geometry.top + geometry.bottom) / 2;
  geometry.floor = Math.ceil(geometry.bottom + spare + DROP_ROOM);
  geometry.height = geometry.floor + 22;
  return geometry;
}

/** The largest cells that hold the packets, in as few rows as the width allows. */
function fittingCell(packets: number, width: number, height: number): { cell: number; rows: number } | undefined {
  for (let cell = LARGEST_CELL; cell >= LEAST_CELL; cell -= 1) {
    const columns = Math.floor(width / cell);
    const rows = Math.ceil(packets / columns);
    if (rows * cell <= height) return { cell, rows };
  }
  return undefined;
}

/** The left upper corner of a place in the queue: the head's place is 0. Columns go down and up alternately. */
export function cellAt(geometry: Geometry, place: number): { x: number; y: number } {
  const { cell, rows, right, top } = geometry;
  const column = Math.floor(place / rows);
  const row = place % rows;
  return { x: right - (column + 1) * cell, y: top + (column % 2 === 0 ? row : rows - 1 - row) * cell };
}

/** The left upper corner of the column that holds a place in the queue. */
export function columnAt(geometry: Geometry, place: number): { x: number; y: number } {
  const column = Math.floor(place / geometry.packetsPerColumn);
  return { x: geometry.right - (column + 1) * geometry.column, y: geometry.top };
}
