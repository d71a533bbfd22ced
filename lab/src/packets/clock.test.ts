import { describe, expect, it } from "vitest";
import { Clock, nearest, SLOWNESS } from "./clock";
import { PacketModel } from "./model/packets";
import { packetLog } from "./testing/logs";

const FLOWS = [{ name: "a", rate_bps: 12e6, bytes: 1000, burst: 2 }];

function model(start_s: number, seed: number): PacketModel {
  return new PacketModel(
    packetLog({ discipline: "drop_tail", rate_bps: 8e6, limit: 5, duration_s: 0.1, start_s, flows: FLOWS, seed }),
  );
}

describe("Clock", () => {
  it("runs over all timelines and starts at the first moment", () => {
    const clock = new Clock();
    const early = model(1, 1);
    const late = model(1.05, 2);
    clock.attach(early, { slowness: 130, resolution_s: 1e-4 });
    const remove = clock.attach(late);
    expect(clock.time_s.value).toBe(early.first_s);
    expect(clock.first_s.value).toBe(early.first_s);
    expect(clock.last_s.value).toBe(late.last_s);
    expect(clock.slowness.value).toBe(100);
    remove();
    expect(clock.last_s.value).toBe(early.last_s);
  });

  it("steps to the nearest moment of any timeline, and only to it", () => {
    const clock = new Clock();
    const models = [model(0, 1), model(0, 2)];
    for (const one of models) clock.attach(one);
    const times = [...new Set(models.flatMap(one => [...one.log.times_s]))].sort((a, b) => a - b);
    const seen = [clock.time_s.value];
    while (clock.step(1)) seen.push(clock.time_s.value);
    expect(seen).toEqual(times);
    while (clock.step(-1)) seen.pop();
    expect(seen).toEqual([times[0]]);
    expect(clock.time_s.value).toBe(times[0]);
  });

  it("steps to drops", () => {
    const clock = new Clock();
    const one = model(0, 1);
    clock.attach(one);
    expect(clock.step(1, "drop")).toBe(true);
    expect(clock.time_s.value).toBe(one.log.times_s[one.drops[0] as number]);
    expect(clock.step(-1, "drop")).toBe(false);
    expect(clock.step(1, "mark")).toBe(false);
  });

  it("lets a second of the wall pass as a part of a second, and stops at the end", () => {
    const clock = new Clock();
    const one = model(0, 1);
    clock.attach(one);
    clock.slowness.value = 10;
    clock.isPlaying.value = true;
    const start_s = clock.time_s.value;
    clock.advance(0.05);
    expect(clock.time_s.value).toBeCloseTo(start_s + 0.005, 12);
    // A page in the background does not jump.
    clock.advance(60);
    expect(clock.time_s.value).toBeCloseTo(start_s + 0.015, 12);
    clock.slowness.value = 1;
    for (let frame = 0; frame < 5; frame += 1) clock.advance(0.1);
    expect(clock.time_s.value).toBe(one.last_s);
    expect(clock.isPlaying.value).toBe(false);
  });

  it("keeps the time within a given range and when a log is replaced", () => {
    const clock = new Clock([0, 0.05]);
    const remove = clock.attach(model(0, 1));
    clock.seek(9);
    expect(clock.time_s.value).toBe(0.05);
    expect(clock.step(1)).toBe(false);
    clock.seek(0.02);
    remove();
    clock.attach(model(0, 3));
    expect(clock.time_s.value).toBe(0.02);
  });

  it("has steps of slow motion from 1 to a million", () => {
    expect(SLOWNESS[0]).toBe(1);
    expect(SLOWNESS.at(-1)).toBe(1e6);
    expect(nearest(1e-3)).toBe(1);
    expect(nearest(1e9)).toBe(1e6);
    const clock = new Clock();
    clock.slower(4);
    expect(clock.slowness.value).toBe(20);
    clock.slower(-99);
    expect(clock.slowness.value).toBe(1);
    clock.slower(99);
    expect(clock.slowness.value).toBe(1e6);
  });
});
