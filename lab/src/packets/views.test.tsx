// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it } from "vitest";
import type { PacketLog } from "../engine/protocol";
import { Clock } from "./clock";
import { CrossbarView } from "./crossbar-view";
import { PacketModel } from "./model/packets";
import { choose, PacketView } from "./packet-view";
import { PauseView } from "./pause-view";
import { crossbarLog, packetLog, pauseLog } from "./testing/logs";

/** Two packets of `tcp-0` and one of a flow with markup in its name; the third is dropped, the second marked. */
const LOG: PacketLog = {
  link: "bottleneck",
  rate_bps: 8e6,
  times_s: Float64Array.of(0.01, 0.01, 0.0102, 0.0102, 0.0103, 0.011),
  events: Uint8Array.of(0, 3, 4, 0, 1, 3),
  flows: Uint32Array.of(0, 0, 0, 0, 1, 0),
  bytes: Uint32Array.of(1000, 1000, 1000, 1000, 500, 1000),
  packets: Uint32Array.of(0, 0, 1, 1, 2, 1),
  flow_names: ["tcp-0", "<img src=x onerror=alert(1)>"],
  is_cut: false,
};

let root: HTMLElement | undefined;

function show(view: preact.JSX.Element): HTMLElement {
  root = document.createElement("main");
  document.body.append(root);
  act(() => render(view, root as HTMLElement));
  return root;
}

function press(element: Element, key: string, shiftKey = false): void {
  act(() => {
    element.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey, bubbles: true, cancelable: true }));
  });
}

function text(element: Element | null | undefined): string {
  return element?.textContent?.replace(/\s+/g, " ").trim() ?? "";
}

afterEach(() => {
  if (root) {
    act(() => render(null, root as HTMLElement));
    root.remove();
  }
});

describe("PacketView", () => {
  it("describes the state at the clock in words", () => {
    const clock = new Clock();
    const page = show(<PacketView log={LOG} clock={clock} />);
    const state = page.querySelector(".pk-state");
    expect(text(state)).toContain("the queue is empty; on the link: tcp-0.");
    act(() => clock.seek(0.01025));
    expect(text(state)).toBe(
      "t = 10.250 ms: 1 packet queued (1000 B): tcp 1; on the link: tcp-0; 1 packet marked. Last event: packet 1 of tcp-0 (1000 B) joins the queue, after 1 other event at the same time.",
    );
    act(() => clock.seek(0.0105));
    expect(text(state)).toContain("1 packet dropped");
    expect(text(state)).toContain("packet 2 of <img src=x onerror=alert(1)> (500 B) is dropped on arrival");
    expect(page.querySelector("img")).toBeNull();
  });

  it("steps with keys, and leaves keys on controls alone", () => {
    const clock = new Clock();
    const page = show(<PacketView log={LOG} clock={clock} hasControls={true} />);
    const view = page.querySelector("section.pk") as Element;
    press(view, "ArrowRight");
    expect(clock.time_s.value).toBe(0.0102);
    press(view, "ArrowRight", true);
    expect(clock.time_s.value).toBe(0.0103);
    press(view, "M");
    expect(clock.time_s.value).toBe(0.0102);
    press(view, "End");
    expect(clock.time_s.value).toBe(0.011);
    press(view, "Home");
    expect(clock.time_s.value).toBe(0.01);
    const { value } = clock.slowness;
    press(view, "-");
    expect(clock.slowness.value).toBeGreaterThan(value);
    press(page.querySelector(".pk-slow input") as Element, "ArrowRight");
    expect(clock.time_s.value).toBe(0.01);
    press(page.querySelector(".pk-seek input") as Element, "ArrowRight");
    expect(clock.time_s.value).toBe(0.0102);
  });

  it("lists the next events in a table", async () => {
    const clock = new Clock();
    const page = show(<PacketView log={LOG} clock={clock} />);
    act(() => clock.seek(0.0102));
    const details = page.querySelector("details") as HTMLDetailsElement;
    await act(async () => {
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
    });
    const rows = [...details.querySelectorAll("tbody tr")].map(row =>
      [...row.querySelectorAll("td")].map(text).join(" "),
    );
    expect(rows).toEqual([
      "before −200 µs starts onto the link tcp-0 1000 B 0 0",
      "before now marked tcp-0 1000 B 1 0",
      "before now joins the queue tcp-0 1000 B 1 1",
      "next +100 µs dropped on arrival <img src=x onerror=alert(1)> 500 B 2 1",
      "next +800 µs starts onto the link tcp-0 1000 B 1 0",
    ]);
  });

  it("shares one clock between the logs of a comparison, and replaces a log", () => {
    const clock = new Clock();
    const flows = [{ name: "a", rate_bps: 12e6, bytes: 1000, burst: 2 }];
    const log = (limit: number) =>
      packetLog({ discipline: "drop_tail", rate_bps: 8e6, limit, duration_s: 0.1, flows, seed: 1 });
    const runs = [
      { label: "short", log: log(3) },
      { label: "long", log: log(30) },
    ];
    const page = show(<PacketView runs={runs} clock={clock} />);
    expect(clock.timelines.value.map(timeline => timeline.label)).toEqual(["short", "long"]);
    act(() => clock.seek(0.05));
    const states = [...page.querySelectorAll(".pk-state")].map(text);
    expect(states).toHaveLength(2);
    for (const state of states) expect(state).toMatch(/^t = 50\.0+ ms: .*; on the link: a;/);
    act(() => render(<PacketView runs={runs.slice(0, 1)} clock={clock} />, root as HTMLElement));
    expect(clock.timelines.value.map(timeline => timeline.label)).toEqual(["short"]);
    expect(clock.time_s.value).toBe(0.05);
  });

  it("says that a log is cut, and that there is none", () => {
    const clock = new Clock([0, 1]);
    const page = show(<PacketView log={{ ...LOG, is_cut: true }} clock={clock} />);
    expect(text(page)).toContain("The log was full at");
    act(() => clock.seek(1));
    expect(text(page.querySelector(".pk-state"))).toContain("the log was full before this time");
    act(() => render(<PacketView />, root as HTMLElement));
    expect(text(page)).toBe("No packets were recorded.");
  });
});

describe("choose", () => {
  const flows = [{ name: "a", rate_bps: 12e6, bytes: 1000, burst: 2 }];
  const modelOf = (link: string, limit: number, label = link) => {
    const log = packetLog({ discipline: "drop_tail", rate_bps: 8e6, limit, duration_s: 0.1, flows, seed: 1 });
    return new PacketModel({ ...log, link }, label);
  };
  const nothing = new PacketModel({
    ...LOG,
    link: "x",
    times_s: new Float64Array(),
    events: new Uint8Array(),
    packets: new Uint32Array(),
  });

  it("takes the longest queues, in their order, and leaves out those without packets", () => {
    const models = [3, 9, 5, 7, 1, 6].map(limit => modelOf(`to ${limit}`, limit));
    const { models: chosen, hidden, idle } = choose([...models, nothing], false);
    expect(chosen.map(model => model.label)).toEqual(["to 9", "to 5", "to 7", "to 6"]);
    expect(hidden).toBe(2);
    expect(idle).toEqual(["x"]);
    expect(choose(models, true)).toEqual({ models, hidden: 0, idle: [] });
  });

  it("takes all runs of a link or none", () => {
    const models = ["one", "two", "three"].flatMap(run =>
      [3, 9].map(limit => modelOf(`to ${limit}`, limit, `${run} ${limit}`)),
    );
    expect(choose(models, false).models.map(model => model.label)).toEqual(["one 9", "two 9", "three 9"]);
  });
});

describe("CrossbarView", () => {
  it("describes a phase in words and as a table", async () => {
    const clock = new Clock();
    const log = crossbarLog(4, 50, 1e-6, 1);
    const page = show(<CrossbarView log={log} clock={clock} />);
    press(page.querySelector("section.pk") as Element, "ArrowRight");
    expect(clock.time_s.value).toBe(log.times_s[1]);
    expect(text(page.querySelector(".pk-state"))).toMatch(/phase 2 of 50; \d of 4 inputs matched: /);
    const details = page.querySelector("details") as HTMLDetailsElement;
    await act(async () => {
      details.open = true;
      details.dispatchEvent(new Event("toggle"));
    });
    const rows = [...details.querySelectorAll("tbody tr")];
    expect(rows).toHaveLength(4);
    const lengths = [...(rows[2]?.querySelectorAll("td") ?? [])]
      .slice(0, 4)
      .map(cell => Number.parseInt(text(cell), 10));
    expect(lengths).toEqual([...log.lengths.slice(16 + 8, 16 + 12)]);
  });
});

describe("PauseView", () => {
  it("names what is stopped at the clock", () => {
    const clock = new Clock();
    const log = pauseLog("SW1->SW2", [3], 1, 0.05, 1);
    const page = show(<PauseView logs={[log]} clock={clock} />);
    act(() => clock.seek(log.times_s[0] as number));
    expect(text(page.querySelector(".pk-state"))).toContain("PAUSE stops 1 of 1 class of a link: SW1->SW2, class 3");
    act(() => {
      clock.step(1);
    });
    expect(text(page.querySelector(".pk-state"))).toContain("no link is stopped by PAUSE");
  });

  it("says that there was none", () => {
    expect(text(show(<PauseView logs={[]} />))).toBe("PAUSE stopped no link.");
  });
});
