// @vitest-environment jsdom
import { render } from "preact";
import { expect, test } from "vitest";
import type { RunResult } from "../engine/protocol";
import { Shares, sharesOf } from "./shares";

const RESULT = {
  flows: {
    name: ["a-0", "a-1", "b", "a-2"],
    group: ["a", "a", "b", "a"],
    goodput_bps: Float64Array.of(1e6, 0, 5e6, 3e6),
  },
} as unknown as RunResult;

test("the flows of a group are counted and drawn, the largest first", () => {
  expect(sharesOf(RESULT, "a")).toEqual([3e6, 1e6, 0]);
  const root = document.createElement("div");
  render(<Shares result={RESULT} starving={{ group: "a", below_bps: 20e3 }} />, root);
  expect(root.querySelector("figcaption")?.textContent).toBe("1 of the 3 a get less than 20 kb/s.Most: 3 Mb/s");
  expect(root.querySelectorAll("rect")).toHaveLength(3);
  expect(root.querySelectorAll(".is-starving")).toHaveLength(1);
  expect(root.querySelector("svg")?.getAttribute("aria-label")).toContain("1 of the 3 a get less");
});
