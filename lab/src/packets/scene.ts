import { flowLook } from "./colors";
import { type Arrangement, arrange, cellAt, columnAt, type Extent, type Geometry, LANE_LABEL } from "./geometry";
import { countsText, type SeriesPlan } from "./model/flows";
import { formatBytes, formatCount, formatRate, formatSpan } from "./model/format";
import { DROPPED_ON_ARRIVAL, type PacketModel } from "./model/packets";
import type { Theme } from "./theme";

/** What a picture of a queue shows, apart from the time. */
export interface SceneContent {
  model: PacketModel;
  plan: SeriesPlan;
  extent: Extent;
  arrangement: Arrangement;
  theme: Theme;
  /** The series that stands out; undefined: all. */
  isolated: number | undefined;
}

export interface SceneMoment {
  time_s: number;
  slowness: number;
  isPlaying: boolean;
  /** Whether packets move to their new places rather than jump. */
  isSmooth: boolean;
  /** Whether PAUSE stops the link. */
  isStopped: boolean;
}

/** A packet under the pointer. */
export interface Found {
  packet: number;
  where: "queue" | "link";
}

/** Wall times in seconds. */
const FALL_S = 0.85;
const LONGEST_EASE_S = 0.075;
const MOST_FALLING = 40;
/** A queue that drains in less time, of packets that each take less time, is sorted. */
const FAST_PACKET_S = 0.06;
const FAST_QUEUE_S = 0.5;
/** A link that a packet crosses in less time shows shares. */
const FAST_LINK_S = 0.15;
const MOST_CLOSE = 30;
const BLUR_S = 0.25;
const MOST_BLURRED = 20_000;
/** While the time stands still, only drops of that many events are visible. */
const EVENTS_AT_REST = 10;
/** The part of its fall that a dropped packet is shown at while the time stands still. */
const FALL_AT_REST = 0.72;
const MOST_STEPS = 400;
const DIMMED = 0.16;

interface Falling {
  event: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Draws one queue with its link onto a canvas. */
export class QueueScene {
  geometry: Geometry | undefined;
  private readonly context: CanvasRenderingContext2D;
  private readonly canvas: HTMLCanvasElement;
  private content: SceneContent | undefined;
  private ratio = 1;
  private unit = 1;
  private colors: string[] = [];
  private striped: boolean[] = [];
  private seriesOf: Uint16Array = new Uint16Array(0);
  private laneOf: Uint16Array = new Uint16Array(0);
  private laneNames: string[] = [];

  // The queue as it was drawn last: packets in the order of arrival, their places and sizes.
  private queued = new Uint32Array(64);
  private count = 0;
  private x = new Float32Array(64);
  private y = new Float32Array(64);
  private widths = new Float32Array(64);
  private before = new Uint32Array(64);
  private beforeCount = 0;
  private beforeX = new Float32Array(64);
  private beforeY = new Float32Array(64);
  private events = -1;
  private drawn_ms = 0;
  /** Whether single packets pass too fast to be seen. */
  private isFast = false;
  private isSorted = false;
  // The packet in the port, and how far it still is from there.
  private sent = -1;
  private sentX = 0;
  private sentY = 0;
  private readonly fallen = new Map<number, Falling>();
  private dropsText = { drops: -1, text: "" };
  private onLink: { packet: number; x: number; width: number }[] = [];

  constructor(canvas: HTMLCanvasElement) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d") as CanvasRenderingContext2D;
  }

  /** Takes the content for a width in CSS pixels. */
  prepare(content: SceneContent, width: number): void {
    this.content = content;
    const { model, plan, theme } = content;
    this.unit = theme.unit;
    const geometry = arrange(Math.floor(width / theme.unit), content.arrangement, content.extent);
    this.geometry = geometry;
    this.ratio = Math.min(Math.max(globalThis.devicePixelRatio || 1, 1), 2) * theme.unit;
    const wide = Math.round(geometry.width * this.ratio);
    const high = Math.round(geometry.height * this.ratio);
    if (this.canvas.width !== wide) this.canvas.width = wide;
    if (this.canvas.height !== high) this.canvas.height = high;
    this.canvas.style.height = `${geometry.height * theme.unit}px`;
    const looks = plan.series.map(series => flowLook(series.look, theme.isDark));
    this.colors = looks.map(look => look.color);
    this.striped = looks.map(look => look.isStriped);
    const flows = model.log.flow_names;
    this.seriesOf = Uint16Array.from(flows, flow => plan.indexOf.get(flow) ?? 0);
    const { lanes, hasOtherLane } = content.extent;
    this.laneOf = Uint16Array.from(flows, flow => (lanes.includes(flow) ? lanes.indexOf(flow) : lanes.length));
    this.laneNames = hasOtherLane ? [...lanes, "others"] : [...lanes];
    this.fallen.clear();
    this.dropsText.drops = -1;
    this.events = -1;
    this.sent = -1;
    this.count = 0;
  }

  /** Draws a moment; returns whether packets are still on their way to their places. */
  draw(moment: SceneMoment): boolean {
    const { content, geometry } = this;
    if (!content || !geometry) return false;
    const { model } = content;
    const events = model.eventsUpTo(moment.time_s);
    const now_ms = performance.now();
    const wall_s = Math.min((now_ms - this.drawn_ms) / 1e3, 0.1);
    const steps = events - this.events;
    const drain_s = (content.extent.bytes * 8) / model.rate_bps;
    const wasSorted = this.isSorted;
    this.isFast = moment.isPlaying && linkWindow_s(geometry, model) * moment.slowness < FAST_LINK_S;
    const packet_s = model.transmission_s(model.largestPacket);
    this.isSorted =
      moment.isPlaying && drain_s * moment.slowness < FAST_QUEUE_S && packet_s * moment.slowness < FAST_PACKET_S;
    const isSmooth =
      moment.isSmooth && this.events >= 0 && steps >= 0 && steps <= MOST_STEPS && !this.isSorted && !wasSorted;
    this.place(events, geometry, content);
    const isMoving = this.ease(isSmooth, wall_s, moment, geometry, content);

    const { context } = this;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, geometry.width, geometry.height);
    this.drawGround(geometry, content, moment);
    if (geometry.shape === "columns") this.drawColumns(events, geometry, content);
    else this.drawQueue(events, geometry, content);
    if (!this.isFast) this.drawArrivals(moment, geometry, content, events);
    this.drawLink(moment, geometry, content, events);
    this.drawFalling(moment, geometry, content, events);
    this.drawLabels(events, geometry, content, moment);

    this.events = events;
    this.drawn_ms = now_ms;
    return isMoving;
  }

  /** The packet at a point in CSS pixels. */
  find(cssX: number, cssY: number): Found | undefined {
    const { geometry } = this;
    const x = cssX / this.unit;
    const y = cssY / this.unit;
    if (!geometry) return undefined;
    for (const { packet, x: left, width } of this.onLink)
      if (x >= left && x <= left + Math.max(width, 3) && Math.abs(y - geometry.middle) <= geometry.packetHeight / 2)
        return { packet, where: "link" };
    if (geometry.shape === "columns") return undefined;
    const height = this.heightOf(geometry);
    for (let place = 0; place < this.count; place += 1) {
      const left = this.x[place] as number;
      const top = this.y[place] as number;
      if (x >= left && x <= left + (this.widths[place] as number) && y >= top && y <= top + height)
        return { packet: this.queued[place] as number, where: "queue" };
    }
    return undefined;
  }

  private heightOf(geometry: Geometry): number {
    if (geometry.shape === "cells") return geometry.cell;
    if (geometry.shape === "lanes") return geometry.laneHeight - 4;
    return geometry.packetHeight;
  }

  private reserve(length: number): void {
    if (this.queued.length >= length) return;
    const size = Math.max(length, this.queued.length * 2);
    this.queued = grown(this.queued, size);
    this.before = grown(this.before, size);
    this.x = grown(this.x, size);
    this.y = grown(this.y, size);
    this.widths = grown(this.widths, size);
    this.beforeX = grown(this.beforeX, size);
    this.beforeY = grown(this.beforeY, size);
  }

  /** Finds the queued packets and where they belong; keeps the last ones as those of before. */
  private place(events: number, geometry: Geometry, content: SceneContent): void {
    const { model } = content;
    // A state is collected from a checkpoint with packets that have left since.
    this.reserve(model.lengthAfter(events));
    [this.queued, this.before] = [this.before, this.queued];
    [this.x, this.beforeX] = [this.beforeX, this.x];
    [this.y, this.beforeY] = [this.beforeY, this.y];
    this.beforeCount = this.count;
    this.count = model.queuedAfter(events, this.queued);
    if (this.isSorted) this.sort(model);
    if (geometry.shape === "columns") return;
    const { scale, right, middle, packetHeight, cell } = geometry;
    if (geometry.shape === "cells") {
      for (let place = 0; place < this.count; place += 1) {
        const at = cellAt(geometry, place);
        this.x[place] = at.x;
        this.y[place] = at.y;
        this.widths[place] = cell;
      }
      return;
    }
    const isRow = geometry.shape === "row";
    const ends = new Float64Array(this.laneNames.length + 1).fill(right);
    for (let place = 0; place < this.count; place += 1) {
      const packet = this.queued[place] as number;
      const width = packetWidth(model.bytesOf(packet), scale, isRow);
      const lane = isRow ? 0 : (this.laneOf[model.flowOf(packet)] as number);
      const end = (ends[lane] as number) - width;
      ends[lane] = end;
      this.x[place] = end;
      this.y[place] = isRow ? middle - packetHeight / 2 : geometry.top + lane * geometry.laneHeight + 2;
      this.widths[place] = width;
    }
  }

  /** Sorts the queued packets by series: where packets change too fast to be seen, their shares remain visible. */
  private sort(model: PacketModel): void {
    const ends = new Uint32Array(this.colors.length + 1);
    const seriesAt = (place: number) => this.seriesOf[model.flowOf(this.queued[place] as number)] as number;
    for (let place = 0; place < this.count; place += 1) {
      const next = seriesAt(place) + 1;
      ends[next] = (ends[next] as number) + 1;
    }
    for (let series = 1; series < ends.length; series += 1)
      ends[series] = (ends[series] as number) + (ends[series - 1] as number);
    for (let place = 0; place < this.count; place += 1) {
      const series = seriesAt(place);
      this.before[ends[series] as number] = this.queued[place] as number;
      ends[series] = (ends[series] as number) + 1;
    }
    [this.queued, this.before] = [this.before, this.queued];
    this.beforeCount = 0;
  }

  /** Moves packets from where they were toward where they belong. */
  private ease(
    isSmooth: boolean,
    wall_s: number,
    moment: SceneMoment,
    geometry: Geometry,
    content: SceneContent,
  ): boolean {
    const { model } = content;
    const transmission = model.transmissionAt(moment.time_s);
    const largest_s = model.transmission_s(Math.max(model.largestPacket, 1)) * moment.slowness;
    const ease_s = moment.isPlaying ? Math.min(LONGEST_EASE_S, largest_s * 0.2) : LONGEST_EASE_S;
    const packet = transmission?.packet ?? -1;
    const isEased = isSmooth && ease_s > 0.012 && geometry.shape !== "columns";
    const rest = isEased ? Math.exp(-wall_s / ease_s) : 0;
    let isMoving = false;

    if (packet !== this.sent) {
      this.sent = packet;
      this.sentX = 0;
      this.sentY = 0;
      if (isEased && packet >= 0) {
        const width = model.bytesOf(packet) * geometry.linkScale;
        const place = findIn(this.before, this.beforeCount, packet);
        if (place >= 0) {
          this.sentX = (this.beforeX[place] as number) - (geometry.link - width);
          this.sentY = (this.beforeY[place] as number) + this.heightOf(geometry) / 2 - geometry.middle;
        }
      }
    }
    this.sentX *= rest;
    this.sentY *= rest;
    if (Math.abs(this.sentX) > 0.4 || Math.abs(this.sentY) > 0.4) isMoving = true;
    if (!isEased) return false;

    let old = 0;
    for (let place = 0; place < this.count; place += 1) {
      const id = this.queued[place] as number;
      while (old < this.beforeCount && (this.before[old] as number) < id) old += 1;
      const goalX = this.x[place] as number;
      const goalY = this.y[place] as number;
      let fromX = geometry.left - (this.widths[place] as number);
      let fromY = geometry.shape === "cells" ? geometry.middle - geometry.cell / 2 : goalY;
      if (old < this.beforeCount && this.before[old] === id) {
        fromX = this.beforeX[old] as number;
        fromY = this.beforeY[old] as number;
      }
      const offX = (fromX - goalX) * rest;
      const offY = (fromY - goalY) * rest;
      if (Math.abs(offX) > 0.4 || Math.abs(offY) > 0.4) {
        isMoving = true;
        this.x[place] = goalX + offX;
        this.y[place] = goalY + offY;
      }
    }
    return isMoving;
  }

  private drawGround(geometry: Geometry, { theme }: SceneContent, { isStopped }: SceneMoment): void {
    const { context } = this;
    const { left, right, top, bottom, link, width, middle, packetHeight, port } = geometry;
    // The queue's room, open toward the arrivals.
    context.fillStyle = theme.shade;
    context.fillRect(left - 4, top - 4, right - left + 8, bottom - top + 8);
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(left - 4, top - 4.5);
    context.lineTo(right + 4.5, top - 4.5);
    context.lineTo(right + 4.5, bottom + 4.5);
    context.lineTo(left - 4, bottom + 4.5);
    context.stroke();
    if (geometry.shape === "lanes") {
      context.beginPath();
      for (let lane = 1; lane < this.laneNames.length; lane += 1) {
        const y = Math.round(top + lane * geometry.laneHeight) - 0.5;
        context.moveTo(left - 4, y);
        context.lineTo(right + 4, y);
      }
      context.globalAlpha = 0.5;
      context.stroke();
      context.globalAlpha = 1;
    }
    // The arrow of arrivals.
    context.strokeStyle = theme.soft;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(left - 15, middle - 4);
    context.lineTo(left - 10.5, middle);
    context.lineTo(left - 15, middle + 4);
    context.stroke();
    // The link.
    const half = packetHeight / 2 + 3.5;
    context.fillStyle = theme.shade;
    context.fillRect(link, middle - half, width - link, half * 2);
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(width, Math.round(middle - half) - 0.5);
    context.lineTo(link, Math.round(middle - half) - 0.5);
    context.moveTo(width, Math.round(middle + half) + 0.5);
    context.lineTo(link, Math.round(middle + half) + 0.5);
    context.stroke();
    context.setLineDash([2, 3]);
    context.strokeRect(port - 1.5, Math.round(middle - half) - 0.5, link - port + 1, half * 2 + 1);
    context.setLineDash([]);
    if (isStopped) {
      context.save();
      context.beginPath();
      context.rect(link, middle - half, width - link, half * 2);
      context.clip();
      context.strokeStyle = theme.stop;
      context.lineWidth = 3;
      context.globalAlpha = 0.55;
      context.beginPath();
      for (let x = link - half * 2; x < width; x += 12) {
        context.moveTo(x, middle + half);
        context.lineTo(x + half * 2, middle - half);
      }
      context.stroke();
      context.restore();
    }
  }

  private drawQueue(events: number, geometry: Geometry, content: SceneContent): void {
    const { context } = this;
    const { model, theme, isolated } = content;
    const height = this.heightOf(geometry);
    const isCells = geometry.shape === "cells";
    const isRound = this.count <= 600 && (!isCells || geometry.cell >= 9);
    const inner = isCells ? geometry.cell - (geometry.cell >= 6 ? 1.5 : 1) : height;
    const limit = geometry.shape === "lanes" ? geometry.left + LANE_LABEL : geometry.left - 3;
    const largest = model.largestPacket;
    let color = "";
    let alpha = 1;
    if (isolated !== undefined) context.globalAlpha = alpha = DIMMED;
    for (let place = 0; place < this.count; place += 1) {
      const packet = this.queued[place] as number;
      const series = this.seriesOf[model.flowOf(packet)] as number;
      const next = this.colors[series] as string;
      if (next !== color) {
        color = next;
        context.fillStyle = color;
      }
      if (isolated !== undefined) {
        const wanted = series === isolated ? 1 : DIMMED;
        if (wanted !== alpha) context.globalAlpha = alpha = wanted;
      }
      let left = this.x[place] as number;
      let top = this.y[place] as number;
      let width = this.widths[place] as number;
      let high = inner;
      if (isCells) {
        // Short packets are smaller squares.
        const side = geometry.cell >= 6 ? inner * (model.bytesOf(packet) * 4 < largest ? 0.62 : 1) : inner;
        left += (geometry.cell - side) / 2;
        top += (geometry.cell - side) / 2;
        width = side;
        high = side;
      } else if (width >= 4) width -= 1;
      if (left + width < limit) continue;
      if (isRound && width >= 6) {
        context.beginPath();
        context.roundRect(left, top, width, high, 2.5);
        context.fill();
      } else context.fillRect(left, top, width, high);
      if (this.striped[series] && width >= 5) this.drawStripe(left, top, width, high, theme, color);
      if (model.isMarkedAfter(packet, events)) this.drawMark(left, top, width, high, theme, color);
    }
    context.globalAlpha = 1;
  }

  /** Columns of the queue from head to tail: each shows the shares of series among its packets. */
  private drawColumns(events: number, geometry: Geometry, content: SceneContent): void {
    const { context } = this;
    const { model, isolated, theme } = content;
    const { packetsPerColumn, column, top, bottom } = geometry;
    const height = bottom - top;
    const series = this.colors.length;
    const columns = Math.ceil(this.count / packetsPerColumn);
    const counts = new Uint32Array(columns * series);
    const marks = new Uint32Array(columns);
    for (let place = 0; place < this.count; place += 1) {
      const packet = this.queued[place] as number;
      const at = Math.floor(place / packetsPerColumn);
      const cell = at * series + (this.seriesOf[model.flowOf(packet)] as number);
      counts[cell] = (counts[cell] as number) + 1;
      if (model.isMarkedAfter(packet, events)) marks[at] = (marks[at] as number) + 1;
    }
    const unit = height / packetsPerColumn;
    const heights = new Float32Array(columns);
    for (let one = 0; one < series; one += 1) {
      context.fillStyle = this.colors[one] as string;
      context.globalAlpha = isolated === undefined || isolated === one ? 1 : DIMMED;
      for (let at = 0; at < columns; at += 1) {
        const part = (counts[at * series + one] as number) * unit;
        if (part === 0) continue;
        const { x } = columnAt(geometry, at * packetsPerColumn);
        const filled = heights[at] as number;
        context.fillRect(x, bottom - filled - part, column - (packetsPerColumn > 1 ? 0 : 0.5), part);
        heights[at] = filled + part;
      }
    }
    context.globalAlpha = 1;
    // The share of marked packets, as a dotted strip above.
    context.fillStyle = theme.ink;
    for (let at = 0; at < columns; at += 2) {
      const marked = (marks[at] as number) + (marks[at + 1] ?? 0);
      if (marked === 0) continue;
      const { x } = columnAt(geometry, at * packetsPerColumn);
      const part = Math.max((marked / (2 * packetsPerColumn)) * 6, 1);
      context.fillRect(x, top - 6 - part, column, part);
    }
  }

  /** Packets that are about to arrive: as far away as their arrival is in the future, at the pace of the link. */
  private drawArrivals(moment: SceneMoment, geometry: Geometry, content: SceneContent, events: number): void {
    const { context } = this;
    const { model, isolated } = content;
    const { left, middle, linkScale, packetHeight } = geometry;
    const { times_s, bytes, flows } = model.log;
    const speed = (linkScale * model.rate_bps) / 8;
    const end = left - 17;
    const height = packetHeight * 0.5;
    for (let place = model.countUpTo(model.arrivals, events); place < model.arrivals.length; place += 1) {
      const event = model.arrivals[place] as number;
      const time_s = times_s[event] as number;
      const right = end - (time_s - moment.time_s) * speed;
      if (right < 0) break;
      // Packets that arrive faster than the link sends are above each other, not on top of each other.
      let close = 0;
      for (let earlier = place; earlier > 0 && close < MOST_CLOSE; earlier -= 1) {
        const last = model.arrivals[earlier - 1] as number;
        const gap_s = (times_s[model.arrivals[earlier] as number] as number) - (times_s[last] as number);
        if (gap_s * speed >= (bytes[last] as number) * linkScale * 0.5) break;
        close += 1;
      }
      const level = [0, -1, 1][close % 3] as number;
      const long = Math.max((bytes[event] as number) * linkScale * 0.5, 2);
      const series = this.seriesOf[flows[event] as number] as number;
      context.globalAlpha = isolated === undefined || isolated === series ? Math.min(right / 40, 0.8) : DIMMED;
      context.fillStyle = this.colors[series] as string;
      context.fillRect(right - long, middle - height / 2 + level * (height + 1), long, height);
    }
    context.globalAlpha = 1;
  }

  private drawLink(moment: SceneMoment, geometry: Geometry, content: SceneContent, events: number): void {
    const { context } = this;
    const { model, theme, isolated } = content;
    const { link, width, linkScale, middle, packetHeight, port } = geometry;
    const speed = (linkScale * model.rate_bps) / 8;
    const window_s = linkWindow_s(geometry, model) + model.transmission_s(model.largestPacket);
    const from_s = moment.time_s - window_s;
    this.onLink = [];
    context.save();
    context.beginPath();
    context.rect(this.sentX < 0 ? 0 : port - 2, 0, width, geometry.floor);
    context.clip();
    if (this.isFast) {
      this.drawBlur(BLUR_S / moment.slowness, moment, geometry, content, events);
    } else {
      const top = middle - packetHeight / 2;
      let next_s = Number.POSITIVE_INFINITY;
      for (let place = model.countUpTo(model.departures, events) - 1; place >= 0; place -= 1) {
        const event = model.departures[place] as number;
        const began_s = model.log.times_s[event] as number;
        if (began_s < from_s) break;
        const packet = model.packetOf[event] as number;
        const wide = model.log.bytes[event] as number;
        // A link whose rate rose sends a packet in less time than its first rate takes.
        const room = (next_s - began_s) * speed;
        next_s = began_s;
        const long = Math.max(Math.min(wide * linkScale, room), 1.5);
        let left = link + (moment.time_s - began_s) * speed - long;
        let high = top;
        if (packet === this.sent) {
          left += this.sentX;
          high += this.sentY;
        }
        const series = this.seriesOf[model.log.flows[event] as number] as number;
        const color = this.colors[series] as string;
        context.fillStyle = color;
        context.globalAlpha = isolated === undefined || isolated === series ? 1 : DIMMED;
        const drawn = long >= 4 ? long - 1 : long;
        context.beginPath();
        context.roundRect(left, high, drawn, packetHeight, Math.min(2.5, drawn / 2));
        context.fill();
        if (this.striped[series] && drawn >= 5) this.drawStripe(left, high, drawn, packetHeight, theme, color);
        if (model.isMarkedAfter(packet, events)) this.drawMark(left, high, drawn, packetHeight, theme, color);
        this.onLink.push({ packet, x: left, width: long });
      }
      context.globalAlpha = 1;
    }
    context.restore();
    // The link goes on.
    const fade = context.createLinearGradient(width - 46, 0, width, 0);
    fade.addColorStop(0, "#0000");
    fade.addColorStop(1, "#000");
    context.globalCompositeOperation = "destination-out";
    context.fillStyle = fade;
    context.fillRect(width - 46, middle - packetHeight, 46, packetHeight * 2);
    context.globalCompositeOperation = "source-over";
  }

  /** The link where packets pass too fast to be seen: the shares of series in the last part of a second. */
  private drawBlur(
    span_s: number,
    moment: SceneMoment,
    geometry: Geometry,
    { model, isolated }: SceneContent,
    events: number,
  ): void {
    const { context } = this;
    const { link, width, middle, packetHeight } = geometry;
    const busy_s = new Float64Array(this.colors.length);
    const last = model.countUpTo(model.departures, events) - 1;
    let from_s = moment.time_s;
    for (let place = last; place >= 0 && last - place < MOST_BLURRED; place -= 1) {
      const event = model.departures[place] as number;
      from_s = model.log.times_s[event] as number;
      if (from_s < moment.time_s - span_s) break;
      const series = this.seriesOf[model.log.flows[event] as number] as number;
      busy_s[series] = (busy_s[series] as number) + model.transmission_s(model.log.bytes[event] as number);
    }
    const total_s = Math.max(
      moment.time_s - from_s,
      busy_s.reduce((sum, part) => sum + part, 0),
    );
    let bottom = middle + packetHeight / 2;
    busy_s.forEach((part_s, series) => {
      const height = (part_s / total_s) * packetHeight;
      context.globalAlpha = isolated === undefined || isolated === series ? 0.8 : DIMMED;
      context.fillStyle = this.colors[series] as string;
      context.fillRect(link, bottom - height, width - link, height);
      bottom -= height;
    });
    context.globalAlpha = 1;
  }

  private drawFalling(moment: SceneMoment, geometry: Geometry, content: SceneContent, events: number): void {
    const { context } = this;
    const { model, theme, isolated } = content;
    const span_s = FALL_S / moment.slowness;
    const times_s = model.log.times_s;
    const last = model.countUpTo(model.drops, events) - 1;
    const first = model.countUpTo(model.drops, model.eventsUpTo(moment.time_s - span_s));
    // Of many drops every second, fourth, … one falls, all the way.
    let stride = 1;
    while ((last - first) / stride >= MOST_FALLING) stride *= 2;
    let shown = 0;
    for (let place = last - (last % stride); place >= first; place -= stride) {
      const event = model.drops[place] as number;
      const age_s = moment.time_s - (times_s[event] as number);
      if (age_s >= span_s || (!moment.isPlaying && event < events - EVENTS_AT_REST)) break;
      shown += 1;
      const falling = this.fallenAt(event, geometry, model);
      const part = moment.isPlaying ? age_s / span_s : Math.max(age_s / span_s, FALL_AT_REST);
      const { x, y, width, height } = falling;
      const series = this.seriesOf[model.log.flows[event] as number] as number;
      context.save();
      context.globalAlpha =
        (isolated === undefined || isolated === series ? 1 : DIMMED) * Math.min(1, Math.max(0, (1 - part) / 0.2));
      const fallY = y + (geometry.floor - height - 3 - y) * Math.min(part * 1.25, 1) ** 2;
      // Packets that fall together do not hide each other.
      const drift = moment.isPlaying ? (((event * 5) % 11) - 5) * 2 * part : (1 - shown) * (Math.min(width, 16) + 3);
      if (!moment.isPlaying) {
        context.strokeStyle = theme.soft;
        context.lineWidth = 1;
        context.setLineDash([2, 3]);
        context.beginPath();
        context.moveTo(x + width / 2, y + height);
        context.lineTo(x + width / 2 + drift, fallY);
        context.stroke();
        context.setLineDash([]);
      }
      context.translate(x + width / 2 + drift, fallY + height / 2);
      context.rotate((((event * 7) % 9) - 4) * 0.09 * part);
      context.fillStyle = this.colors[series] as string;
      context.fillRect(-width / 2, -height / 2, width, height);
      const arm = Math.max(Math.min(width, height) * 0.32, 3);
      for (const [stroke, line] of [
        [theme.panel, 3.5],
        [theme.ink, 1.75],
      ] as const) {
        context.strokeStyle = stroke;
        context.lineWidth = line;
        context.beginPath();
        context.moveTo(-arm, -arm);
        context.lineTo(arm, arm);
        context.moveTo(arm, -arm);
        context.lineTo(-arm, arm);
        context.stroke();
      }
      context.restore();
    }
  }

  /** Where a dropped packet was, or would have been at the tail. */
  private fallenAt(event: number, geometry: Geometry, model: PacketModel): Falling {
    const known = this.fallen.get(event);
    if (known) return known;
    const packet = model.packetOf[event] as number;
    const list = new Uint32Array(model.lengthAfter(event) + 1);
    const count = model.queuedAfter(event, list);
    const isTail = model.log.events[event] === DROPPED_ON_ARRIVAL;
    const place = isTail ? count : Math.max(findIn(list, count, packet), 0);
    const bytes = model.bytesOf(packet);
    const { shape, scale, right, top, laneHeight, middle, packetHeight } = geometry;
    const falling: Falling = { event, x: 0, y: 0, width: 0, height: this.heightOf(geometry) };
    if (shape === "cells") {
      Object.assign(falling, cellAt(geometry, place));
      falling.width = falling.height = Math.max(geometry.cell - 1, 5);
    } else if (shape === "columns") {
      Object.assign(falling, columnAt(geometry, place));
      falling.y = geometry.bottom - 8;
      falling.width = falling.height = 7;
    } else {
      const isRow = shape === "row";
      const lane = this.laneOf[model.log.flows[event] as number] as number;
      falling.width = packetWidth(bytes, scale, isRow);
      let end = right - falling.width;
      for (let one = 0; one < place; one += 1) {
        const other = list[one] as number;
        if (isRow || this.laneOf[model.flowOf(other)] === lane) end -= packetWidth(model.bytesOf(other), scale, isRow);
      }
      falling.x = end;
      falling.width = Math.max(falling.width - 1, 5);
      falling.y = isRow ? middle - packetHeight / 2 : top + lane * laneHeight + 2;
    }
    falling.x = Math.max(falling.x, 3);
    if (this.fallen.size > 4000) this.fallen.clear();
    this.fallen.set(event, falling);
    return falling;
  }

  private drawLabels(events: number, geometry: Geometry, content: SceneContent, moment: SceneMoment): void {
    const { context } = this;
    const { model, theme } = content;
    const { left, right, link, width, floor, top, middle, packetHeight, linkScale } = geometry;
    const isNarrow = width < 520;
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.font = `600 12px ${theme.font}`;
    context.fillStyle = theme.ink;
    let bytes = 0;
    for (let place = 0; place < this.count; place += 1) bytes += model.bytesOf(this.queued[place] as number);
    const count = `${formatCount(this.count)} ${this.count === 1 ? "packet" : "packets"}`;
    const head = top - (geometry.shape === "columns" ? 19 : 11);
    context.fillText(isNarrow ? `Queue: ${count}` : `Queue: ${count}, ${formatBytes(bytes)}`, left - 4, head);
    const note =
      this.isSorted && geometry.shape !== "lanes"
        ? "too fast for single packets: sorted by flow"
        : geometry.shape === "columns" && geometry.packetsPerColumn > 1
          ? `one column = ${geometry.packetsPerColumn} packets, head at the right`
          : "";
    if (note !== "" && !isNarrow) {
      context.font = `11px ${theme.font}`;
      context.fillStyle = theme.soft;
      context.textAlign = "right";
      context.fillText(note, right + 4, head);
      context.textAlign = "left";
    }
    if (left > 60 && geometry.shape !== "columns") {
      context.font = `11px ${theme.font}`;
      context.fillStyle = theme.soft;
      context.fillText("Arrivals", 0, middle - packetHeight / 2 - 11);
    }
    context.font = `600 12px ${theme.font}`;
    context.fillStyle = theme.ink;
    const linkText = moment.isStopped
      ? isNarrow
        ? "Stopped"
        : "Stopped by PAUSE"
      : `Link: ${formatRate(model.rate_bps)}`;
    const linkStart = Math.min(link, width - context.measureText(linkText).width);
    context.fillText(linkText, linkStart, middle - packetHeight / 2 - 11);

    // The scale of lengths and times on the link.
    context.font = `11px ${theme.font}`;
    const scaleY = middle + packetHeight / 2 + 14;
    const long = model.largestPacket * linkScale;
    context.strokeStyle = theme.soft;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(link + 0.5, scaleY - 3);
    context.lineTo(link + 0.5, scaleY + 3);
    context.moveTo(link, scaleY + 0.5);
    context.lineTo(link + long, scaleY + 0.5);
    context.moveTo(link + long - 0.5, scaleY - 3);
    context.lineTo(link + long - 0.5, scaleY + 3);
    context.stroke();
    context.fillStyle = theme.soft;
    const span = formatSpan(model.transmission_s(model.largestPacket));
    if (isNarrow) context.fillText(span, link + long + 5, scaleY + 4);
    else context.fillText(`${formatBytes(model.largestPacket)} = ${span}`, link + long + 6, scaleY + 4);

    if (geometry.shape === "lanes") this.drawLaneLabels(geometry, content);

    // The floor with the counts of drops and marks.
    context.strokeStyle = theme.line;
    context.beginPath();
    context.moveTo(left - 4, floor + 0.5);
    context.lineTo(right + 4, floor + 0.5);
    context.stroke();
    const drops = model.countUpTo(model.drops, events);
    context.font = `600 12px ${theme.font}`;
    context.fillStyle = drops > 0 ? theme.ink : theme.soft;
    const dropped = `Dropped: ${formatCount(drops)}`;
    context.fillText(dropped, left - 4, floor + 16);
    const end = left + 6 + context.measureText(dropped).width;
    context.font = `11px ${theme.font}`;
    context.fillStyle = theme.soft;
    if (drops > 0) {
      if (this.dropsText.drops !== drops) {
        const counts = new Map(model.log.flow_names.map((name, flow) => [name, model.flowDropsAfter(flow, events)]));
        this.dropsText = { drops, text: countsText(counts, content.plan.groups, isNarrow ? 2 : 4) };
      }
      context.fillText(this.dropsText.text, end, floor + 16);
    }
    const marks = model.countUpTo(model.marks, events);
    if (model.marks.length > 0) {
      context.textAlign = "right";
      context.font = `600 12px ${theme.font}`;
      context.fillStyle = marks > 0 ? theme.ink : theme.soft;
      const at = isNarrow ? width - 2 : right + 4;
      context.fillText(`Marked: ${formatCount(marks)}`, at, floor + 16);
      context.textAlign = "left";
    }
  }

  private drawLaneLabels(geometry: Geometry, { model, theme }: SceneContent): void {
    const { context } = this;
    const counts = new Uint32Array(this.laneNames.length + 1);
    for (let place = 0; place < this.count; place += 1) {
      const lane = this.laneOf[model.flowOf(this.queued[place] as number)] as number;
      counts[lane] = (counts[lane] as number) + 1;
    }
    context.font = `11px ${theme.font}`;
    this.laneNames.forEach((name, lane) => {
      const y = geometry.top + lane * geometry.laneHeight + geometry.laneHeight / 2 + 4;
      context.fillStyle = theme.ink;
      const count = formatCount(counts[lane] as number);
      context.textAlign = "right";
      context.fillText(count, geometry.left + LANE_LABEL - 8, y);
      const room = LANE_LABEL - 14 - context.measureText(count).width;
      context.textAlign = "left";
      context.fillStyle = theme.soft;
      context.fillText(shortened(context, name, room), geometry.left, y);
    });
  }

  private drawStripe(left: number, top: number, width: number, height: number, theme: Theme, color: string): void {
    const { context } = this;
    context.fillStyle = theme.panel;
    context.fillRect(left, top + height * 0.72, width, Math.max(height * 0.12, 1));
    context.fillStyle = color;
  }

  /** The mark: a ring that is visible on any color. */
  private drawMark(left: number, top: number, width: number, height: number, theme: Theme, color: string): void {
    const { context } = this;
    const size = Math.min(width, height);
    context.fillStyle = theme.panel;
    if (size < 6) {
      const side = Math.max(size * 0.42, 1.2);
      context.fillRect(left + (width - side) / 2, top + (height - side) / 2, side, side);
    } else {
      const radius = Math.min(size * 0.3, 5);
      context.beginPath();
      context.arc(left + width / 2, top + height / 2, radius, 0, 2 * Math.PI);
      context.fill();
      if (radius >= 2.6) {
        context.fillStyle = theme.ink;
        context.beginPath();
        context.arc(left + width / 2, top + height / 2, radius * 0.5, 0, 2 * Math.PI);
        context.fill();
      }
    }
    context.fillStyle = color;
  }
}

/** The time that a packet stays on the visible part of the link. */
function linkWindow_s(geometry: Geometry, model: PacketModel): number {
  return ((geometry.width - geometry.link) * 8) / (geometry.linkScale * model.rate_bps);
}

function packetWidth(bytes: number, scale: number, isRow: boolean): number {
  return isRow ? Math.max(bytes * scale, 2.5) : bytes * scale;
}

function grown<T extends Uint32Array | Float32Array>(values: T, size: number): T {
  const larger = new (values.constructor as new (size: number) => T)(size);
  larger.set(values);
  return larger;
}

/** The place of a value in ascending values, or -1. */
function findIn(values: Uint32Array, count: number, value: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low < count && values[low] === value ? low : -1;
}

/** A text, with its end left out where it has no room. */
export function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > room) end -= 1;
  return `${text.slice(0, end)}…`;
}
