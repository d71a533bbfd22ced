// @vitest-environment jsdom
import { EditorView } from "@codemirror/view";
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Fault, Pin } from "../engine/protocol";
import { pinsOf } from "../sliders/pins";
import { find } from "../sliders/set-value";
import { Editor, type EditorProps } from "./editor";

const TEXT = 'duration = "10 s"\nwarmup = "1 s"\n';

let root: HTMLElement;
let text: string;
let calls: string[];

function show(rest: Partial<EditorProps> = {}) {
  const values = ["duration", "warmup"].map(path => find(text, path)).filter(value => value !== undefined);
  const onText = (changed: string) => {
    calls.push(changed);
    text = changed;
    show(rest);
  };
  const props = { text, onText, faults: undefined, values, pins: pinsOf(text), ...rest };
  act(() => {
    render(<Editor {...props} />, root);
  });
}

function shadow(): ShadowRoot {
  return root.querySelector(".editor-view")?.shadowRoot as ShadowRoot;
}

function view(): EditorView {
  return EditorView.findFromDOM(shadow().querySelector(".cm-editor") as HTMLElement) as EditorView;
}

// jsdom has no such command; CodeMirror uses it to read the selection in a shadow root.
Object.assign(document, { execCommand: () => false });

beforeEach(() => {
  root = document.body.appendChild(document.createElement("div"));
  text = TEXT;
  calls = [];
});

afterEach(() => {
  render(null, root);
  root.remove();
  vi.useRealTimers();
});

function fault(from: number, to: number): Fault {
  return {
    kind: "scenario",
    message: "<b>bold</b> `warmup`",
    label: "too long",
    help: "shorten it",
    span: { from, to },
    rendered: "",
  };
}

it("is a labelled text field in a shadow root without elements of style", () => {
  show({ label: "Scenario of the story" });
  const content = shadow().querySelector("[contenteditable=true]");
  expect(content?.getAttribute("aria-label")).toBe("Scenario of the story");
  expect(view().state.doc.toString()).toBe(TEXT);
});

it("reports what is typed, and not what the page sets", () => {
  show();
  act(() => view().dispatch({ changes: { from: 0, insert: "# a\n" } }));
  expect(calls).toEqual([`# a\n${TEXT}`]);
  act(() => view().dispatch({ selection: { anchor: 4 } }));
  text = text.replace("1 s", "2 s");
  show();
  expect(view().state.doc.toString()).toBe(text);
  expect(view().state.selection.main.head).toBe(4);
  expect(calls).toHaveLength(1);
});

it("gives the page line feeds for other line breaks", () => {
  text = TEXT.replaceAll("\n", "\r\n");
  show();
  expect(text).toBe(TEXT);
  expect(view().state.doc.toString()).toBe(TEXT);
});

it("underlines a fault and states it with its line, as text", () => {
  vi.useFakeTimers();
  show();
  const from = TEXT.indexOf("warmup");
  show({ faults: fault(from, from + 6) });
  expect(shadow().querySelector(".cm-lintRange-error")?.textContent).toBe("warmup");
  expect(shadow().querySelector(".fault-line")?.textContent).toBe("2");
  expect(root.querySelector(".editor-fault")?.textContent).toBe("Line 2<b>bold</b> warmup: too longshorten it");
  expect(root.querySelector("b")).toBeNull();
  expect(root.querySelector("[role=status]")?.textContent).toBe("");
  act(() => {
    vi.advanceTimersByTime(2000);
  });
  expect(root.querySelector("[role=status]")?.textContent).toBe("Line 2: <b>bold</b> `warmup`. too long. shorten it");
  act(() => root.querySelector<HTMLButtonElement>(".editor-fault button")?.click());
  expect(view().state.selection.main.from).toBe(from);
  show();
  expect(shadow().querySelector(".cm-lintRange-error")).toBeNull();
  expect(root.querySelector(".editor-fault")).toBeNull();
});

it("takes a fault of an older, longer text", () => {
  show({ faults: fault(500, 600) });
  expect(root.querySelector(".editor-fault")).not.toBeNull();
  show({ faults: { ...fault(0, 0), span: undefined, kind: "run" } });
  expect(root.querySelector(".editor-fault")?.textContent).toMatch(/^Cannot run/);
});

it("pins a number with its button", () => {
  show();
  const button = (path: string) => shadow().querySelector<HTMLButtonElement>(`[aria-label='Slider for ${path}']`);
  expect(button("warmup")?.ariaPressed).toBe("false");
  act(() => button("warmup")?.click());
  expect(text).toBe(`${TEXT}\n[lab]\npins = ["warmup"]\n`);
  expect(button("warmup")?.ariaPressed).toBe("true");
  act(() => button("warmup")?.click());
  expect(text).toBe(TEXT);
});

it("pins the number at the cursor with Alt+Enter, through the page if that wants it", () => {
  const seen: Pin[] = [];
  show({ onPin: pin => seen.push(pin) });
  act(() => view().dispatch({ selection: { anchor: TEXT.indexOf("warmup") } }));
  const event = new KeyboardEvent("keydown", { key: "Enter", altKey: true, bubbles: true, cancelable: true });
  act(() => {
    view().contentDOM.dispatchEvent(event);
  });
  expect(seen.map(pin => pin.key)).toEqual(["warmup"]);
  expect(event.defaultPrevented).toBe(true);
  expect(text).toBe(TEXT);
});

it("leaves the Tab key alone", () => {
  show();
  const event = new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true });
  act(() => {
    view().contentDOM.dispatchEvent(event);
  });
  expect(event.defaultPrevented).toBe(false);
  expect(text).toBe(TEXT);
});

it("keeps its buttons at their numbers while the text changes and is broken", () => {
  const values = [find(TEXT, "duration"), find(TEXT, "warmup")].filter(value => value !== undefined);
  const button = () => shadow().querySelector("[aria-label='Slider for warmup']");
  show({ values });
  text = `broken = {\n${TEXT}`;
  show({ values });
  expect(button()?.closest(".cm-line")?.textContent).toBe('warmup = "1 s"');
  show({ values: [] });
  expect(button()?.closest(".cm-line")?.textContent).toBe('warmup = "1 s"');
  text = "broken = {\n";
  show({ values: [] });
  expect(button()).toBeNull();
});

it("cannot be changed if it is read-only", () => {
  show({ readOnly: true });
  expect(view().state.readOnly).toBe(true);
});
