// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { decodeShared } from "./link";
import { ShareMenu } from "./share-menu";

let root: HTMLElement;
let copied: string[];

beforeEach(() => {
  root = document.body.appendChild(document.createElement("div"));
  copied = [];
  const writeText = async (text: string) => void copied.push(text);
  Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
});

afterEach(() => {
  render(null, root);
  root.remove();
  vi.restoreAllMocks();
});

async function click(label: string) {
  const buttons = [...root.querySelectorAll("button")];
  const button = buttons.find(one => one.textContent?.startsWith(label));
  await act(async () => button?.click());
}

async function open(text: string) {
  act(() => render(<ShareMenu shared={() => ({ text, queues: ["dbl"] })} />, root));
  await click("Share");
}

it("copies a link that holds the scenario", async () => {
  await open('name = "a"\n');
  await click("Copy link");
  const code = copied[0]?.split("#/lab?s=")[1] ?? "";
  expect(decodeShared(code).shared).toMatchObject({ text: 'name = "a"\n', queues: ["dbl"] });
  expect(root.querySelector("[role=status]")?.textContent).toMatch(/^Link copied: \d+ characters\.$/);
});

it("copies the command", async () => {
  await open('name = "a"\n');
  await click("Copy command");
  expect(copied).toEqual(["forebay compare a.toml --queues dbl --seeds 1"]);
});

it("shows the text where the browser does not copy", async () => {
  await open('name = "a"\n');
  Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
  await click("Copy command");
  expect(root.querySelector("textarea")?.value).toBe("forebay compare a.toml --queues dbl --seeds 1");
});

it("says why there is no link", async () => {
  await open("#".repeat(300_000));
  await click("Copy link");
  expect(copied).toEqual([]);
  expect(root.querySelector("[role=status]")?.textContent).toMatch(/at most 256 KiB/);
});

it("offers files under the name of the scenario", async () => {
  await open('name = "My run"\n');
  const names: string[] = [];
  URL.createObjectURL = () => "blob:x";
  URL.revokeObjectURL = () => undefined;
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    names.push(this.download);
  });
  await click("Download TOML");
  await click("Download notebook");
  expect(names).toEqual(["My-run.toml", "My-run.ipynb"]);
});

it("closes with Escape and with a click elsewhere", async () => {
  await open("");
  const panel = root.querySelector<HTMLElement>(".share-panel");
  expect(panel?.hidden).toBe(false);
  act(() => void panel?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })));
  expect(panel?.hidden).toBe(true);
  expect(document.activeElement?.textContent).toBe("Share");
  await click("Share");
  act(() => void document.body.dispatchEvent(new Event("pointerdown", { bubbles: true })));
  expect(panel?.hidden).toBe(true);
});
