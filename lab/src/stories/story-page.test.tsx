// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LabProps } from "../app/lab";
import type { RunResult } from "../engine/protocol";
import { documentationUrl, StoryPage } from "./story-page";

let lab: LabProps;
vi.mock("../app/lab", () => ({
  Lab: (props: LabProps) => {
    lab = props;
    return <input class="lab" aria-label="slider" />;
  },
}));

let root: HTMLElement;

beforeEach(() => {
  localStorage.clear();
  vi.stubGlobal("scrollTo", () => undefined);
  root = document.body.appendChild(document.createElement("div"));
});

afterEach(() => {
  render(null, root);
  root.remove();
});

async function show(name: string, step: number): Promise<void> {
  await act(async () => render(<StoryPage name={name} step={step} />, root));
  await vi.waitFor(() => expect(root.querySelector("h1")).not.toBeNull(), 5000);
  // An effect sets the title.
  await vi.waitFor(() => expect(document.title).toContain(root.querySelector("h1")?.textContent));
}

function button(): HTMLButtonElement {
  return root.querySelector("button[aria-expanded]") as HTMLButtonElement;
}

function press(key: string, target: Element = document.body): void {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

test("a step asks, shows the lab, and keeps its answer for later", async () => {
  await show("contain-a-flood", 3);
  expect(root.querySelector("h2")?.textContent).toBe("Drop early, at random");
  expect(root.querySelector(".story-question")?.textContent).toMatch(/\?$/);
  expect(lab).toMatchObject({
    mode: "story",
    compare: ["drop_tail", "red"],
    panels: ["goodput", "queue_length", "drops"],
  });
  expect(lab.pins).toEqual([
    { key: "flows.flood.transport.udp.constant.rate", from: "1 Mbps", to: "40 Mbps", label: "Rate of the flood" },
  ]);
  expect(root.querySelector(".story-answer")?.textContent).toBe("");
  await act(() => button().click());
  expect(root.querySelector(".story-answer")?.textContent).toMatch(/RED shortens the wait/);
  expect(root.querySelector('[aria-current="step"]')?.textContent).toContain("Step 3: Drop early, at random, seen");
  await act(() => button().click());
  expect(button().getAttribute("aria-expanded")).toBe("false");
});

test("the answer opens when the reader has turned the value, and rests", async () => {
  await show("contain-a-flood", 1);
  const isOpen = () => button().getAttribute("aria-expanded");
  const rest = (time_ms: number) => new Promise(done => setTimeout(done, time_ms));
  lab.onText?.(lab.text);
  await rest(900);
  expect(isOpen()).toBe("false");
  lab.onText?.(`${lab.text}\n`);
  await rest(400);
  lab.onText?.(`${lab.text}\n\n`);
  await rest(400);
  expect(isOpen()).toBe("false");
  await vi.waitFor(() => expect(isOpen()).toBe("true"), 5000);
});

test("a deadlock is shown with its ring", async () => {
  await show("saturation-trees", 5);
  const result = { deadlock: { links: ["A->B", "B->A"], since_s: 7e-4 } } as RunResult;
  await act(() => lab.onResults?.([{ contender: undefined, result }]));
  expect(root.querySelector(".story-note")?.textContent).toBe(
    "Deadlock since 700 µs: A->B waits for B->A waits for A->B.",
  );
});

test("the arrow keys turn pages, but not those that move a slider", async () => {
  await show("l4s", 2);
  location.hash = "#/story/l4s/2";
  press("ArrowRight");
  expect(location.hash).toBe("#/story/l4s/3");
  press("ArrowLeft", root.querySelector(".lab") as Element);
  expect(location.hash).toBe("#/story/l4s/3");
  press("ArrowLeft");
  expect(location.hash).toBe("#/story/l4s/1");
});

test("a new step starts anew, with the focus on its title", async () => {
  await show("l4s", 1);
  await act(() => button().click());
  await show("l4s", 2);
  expect(document.activeElement?.textContent).toBe("Many small steps");
  expect(button().getAttribute("aria-expanded")).toBe("false");
  expect(root.querySelectorAll(".is-seen")).toHaveLength(1);
});

test("numbers beyond the story and unknown names are no dead end", async () => {
  await show("l4s", 99);
  expect(root.querySelector(".story-count")?.textContent).toBe("Step 7 of 7");
  expect(root.querySelector(".story-links a:last-child")?.textContent).toContain("BBR and CUBIC");
  expect(root.querySelector(".story-read")?.textContent).toContain("docs/reference/disciplines/dualpi2.md");
  await show("l4s", Number.NaN);
  expect(root.querySelector(".story-count")?.textContent).toBe("Step 1 of 7");
  await act(async () => render(<StoryPage name="<b>" step={1} />, root));
  expect(root.querySelector("h1")?.textContent).toBe("There is no such story");
});

test("the documentation is linked where the lab is a part of it", () => {
  expect(documentationUrl("papers/dbl.html", "/forebay/_static/lab/index.html")).toBe("../../papers/dbl.html");
  expect(documentationUrl("papers/dbl.html", "/")).toBeUndefined();
});
