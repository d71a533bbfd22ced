// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Pin } from "../engine/protocol";
import { find } from "./set-value";
import { Sliders, type SlidersProps } from "./sliders";

const TEXT = 'duration = "10 s"\n\n[[flows]]\nname = "tcp"\ncount = 5\n\n[lab]\npins = ["duration"]\n';

let root: HTMLElement;
let text: string;
let pins: Pin[];
let calls: string[];

function pin(key: string, rest: Partial<Pin> = {}): Pin {
  return { key, from: undefined, to: undefined, label: undefined, ...rest };
}

function show(rest: Partial<SlidersProps> = {}) {
  const values = ["duration", "flows.tcp.count"].map(path => find(text, path)).filter(value => value !== undefined);
  const onText = (changed: string) => {
    calls.push(changed);
    text = changed;
    show(rest);
  };
  act(() => {
    render(<Sliders values={values} pins={pins} text={text} onText={onText} {...rest} />, root);
  });
}

beforeEach(() => {
  root = document.body.appendChild(document.createElement("div"));
  text = TEXT;
  pins = [pin("duration")];
  calls = [];
});

afterEach(() => {
  render(null, root);
  root.remove();
});

function element<Kind extends HTMLElement>(selector: string): Kind {
  const found = root.querySelector<Kind>(selector);
  if (!found) {
    throw new Error(`no ${selector}`);
  }
  return found;
}

function enter(input: HTMLInputElement | HTMLSelectElement, value: string, event = "input") {
  input.value = value;
  act(() => {
    input.dispatchEvent(new Event(event, { bubbles: true }));
  });
}

it("changes the number in the text with each move", () => {
  show();
  const range = element<HTMLInputElement>("input[type=range]");
  expect(range.getAttribute("aria-valuetext")).toBe("10 s");
  enter(range, range.max);
  expect(text).toBe(TEXT.replace("10 s", "100 s"));
  expect(range.getAttribute("aria-valuetext")).toBe("100 s");
  enter(range, "0");
  expect(text).toBe(TEXT.replace("10 s", "1 s"));
  expect(calls).toHaveLength(2);
});

it("keeps its range while it moves, and goes back to the first number", () => {
  show();
  const range = element<HTMLInputElement>("input[type=range]");
  const { max } = range;
  enter(range, max);
  expect(range.max).toBe(max);
  expect(range.value).toBe(max);
  act(() => element<HTMLButtonElement>("button[aria-label^='Set']").click());
  expect(text).toBe(TEXT);
  expect(element<HTMLButtonElement>("button[aria-label^='Set']").disabled).toBe(true);
});

it("starts over where the text is changed elsewhere", () => {
  show();
  const range = element<HTMLInputElement>("input[type=range]");
  enter(range, range.max);
  text = TEXT.replace("10 s", "40 s");
  show();
  expect(element<HTMLButtonElement>("button[aria-label^='Set']").title).toBe("Back to 40 s");
  enter(range, range.max);
  expect(text).toBe(TEXT.replace("10 s", "400 s"));
});

it("takes a typed number, also one outside of the range, and no other text", () => {
  show();
  const field = element<HTMLInputElement>("input[type=number]");
  enter(field, "250");
  expect(text).toBe(TEXT.replace("10 s", "250 s"));
  expect(Number(element<HTMLInputElement>("input[type=range]").max)).toBeGreaterThan(10);
  const before = text;
  enter(field, "");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  enter(field, "-3");
  expect(text).toBe(before);
});

it("moves within the bounds of its pin", () => {
  text = TEXT.replace('\n[lab]\npins = ["duration"]\n', "");
  pins = [pin("flows.tcp.count", { from: "1", to: "8", label: "Downloads" })];
  show();
  const range = element<HTMLInputElement>("input[type=range]");
  expect(range.labels?.[0]?.textContent).toBe("Downloads");
  expect(range.max).toBe("7");
  enter(range, "6");
  expect(text).toContain("count = 7");
});

it("adds and removes pins in the text, at once", () => {
  show();
  enter(element<HTMLSelectElement>("select"), "flows.tcp.count", "change");
  expect(text).toBe(TEXT.replace('["duration"]', '["duration", "flows.tcp.count"]'));
  expect(root.querySelectorAll("fieldset")).toHaveLength(2);
  act(() => element<HTMLButtonElement>("button[aria-label^='Remove']").click());
  expect(text).toBe(TEXT.replace('["duration"]', '["flows.tcp.count"]'));
  expect(root.querySelectorAll("fieldset")).toHaveLength(1);
});

it("leaves pins to the page, if that has its own", () => {
  const seen: string[] = [];
  show({ onPin: one => seen.push(one.key) });
  act(() => element<HTMLButtonElement>("button[aria-label^='Remove']").click());
  enter(element<HTMLSelectElement>("select"), "flows.tcp.count", "change");
  expect(seen).toEqual(["duration", "flows.tcp.count"]);
  expect(text).toBe(TEXT);
});

it("has no button that does nothing", () => {
  text = TEXT.replace('\n[lab]\npins = ["duration"]\n', "");
  pins = [pin("flows.tcp.count")];
  show();
  expect(root.querySelector("button[aria-label^='Remove']")).toBeNull();
  show({ isFixed: true });
  expect(root.querySelector("select")).toBeNull();
});

it("says which number the text does not have", () => {
  pins = [pin("flows.none.count")];
  show();
  expect(root.textContent).toContain("The scenario has no number at flows.none.count.");
});
