import { describe, expect, it } from "vitest";
import { addPin, isSamePath, pinsOf, removePin, togglePin } from "./pins";

function pin(key: string, rest: { from?: string; to?: string; label?: string } = {}) {
  return { key, from: undefined, to: undefined, label: undefined, ...rest };
}

const BODY = 'duration = "1 s"\n\n[[flows]]\nname = "tcp"\ncount = 5\n';

describe("a pin added to a text", () => {
  it.each([
    ["", '[lab]\npins = ["a"]\n'],
    [BODY, `${BODY}\n[lab]\npins = ["a"]\n`],
    ['duration = "1 s"', 'duration = "1 s"\n\n[lab]\npins = ["a"]\n'],
    [`${BODY}\n`, `${BODY}\n[lab]\npins = ["a"]\n`],
    ["x = 1\r\n", 'x = 1\r\n\r\n[lab]\r\npins = ["a"]\r\n'],
    ["[lab]\n", '[lab]\npins = ["a"]\n'],
    ["[lab]", '[lab]\npins = ["a"]'],
    ["[lab] # mine\n\n[probes]\n", '[lab] # mine\npins = ["a"]\n\n[probes]\n'],
    ["[lab]\npins = []\n", '[lab]\npins = ["a"]\n'],
    ['[lab]\npins = ["b"] # so\n', '[lab]\npins = ["b", "a"] # so\n'],
    ['[lab]\npins = ["b", ]\n', '[lab]\npins = ["b", "a" ]\n'],
    ['[lab]\npins = [{ key = "b", from = "1 s" }]\n', '[lab]\npins = [{ key = "b", from = "1 s" }, "a"]\n'],
    ['[lab]\npins = [\n  "b"\n]\n', '[lab]\npins = [\n  "b",\n  "a"\n]\n'],
    ['[lab]\npins = [\n  "b", # why\n]\n', '[lab]\npins = [\n  "b", # why\n  "a",\n]\n'],
    ['lab = { pins = ["b"] }\nx = 1\n', 'lab = { pins = ["b", "a"] }\nx = 1\n'],
    ["lab = { other = 1 }\n", 'lab = { other = 1, pins = ["a"] }\n'],
    ["lab = {}\n", 'lab = { pins = ["a"] }\n'],
    ['lab.pins = ["b"]\nx = 1\n', 'lab.pins = ["b", "a"]\nx = 1\n'],
    [
      '[[lab.pins]]\nkey = "b"\n\n# flows\n[[flows]]\n',
      '[[lab.pins]]\nkey = "b"\n\n[[lab.pins]]\nkey = "a"\n\n# flows\n[[flows]]\n',
    ],
  ])("%j becomes %j", (before, after) => {
    expect(addPin(before, pin("a"))).toBe(after);
  });

  it("has a range and a label", () => {
    const text = addPin("", pin('flows."a b".count', { from: "1", to: "9", label: "It's" }));
    expect(text).toBe(`[lab]\npins = [{ key = 'flows."a b".count', from = "1", to = "9", label = "It's" }]\n`);
    expect(pinsOf(text)).toEqual([pin('flows."a b".count', { from: "1", to: "9", label: "It's" })]);
  });

  it("is not added twice, under any of its paths", () => {
    const text = addPin(BODY, pin("flows.tcp.count"));
    expect(addPin(text, pin("flows.tcp.count"))).toBe(text);
    expect(addPin(text, pin("flows.0.count"))).toBe(text);
    expect(isSamePath(text, "flows.0.count", "flows.tcp.count")).toBe(true);
    expect(isSamePath(text, "flows.0.count", "duration")).toBe(false);
  });
});

describe("a pin removed from a text", () => {
  it.each([
    [`${BODY}\n[lab]\npins = ["a"]\n`, BODY],
    ['[lab]\npins = ["a"]\n\n# flows\n[[flows]]\n', "# flows\n[[flows]]\n"],
    ['x = 1\n\n[lab]\npins = ["a"]\n\n[probes]\n', "x = 1\n\n[probes]\n"],
    ['[lab]\npins = ["a"] # why\n\n[probes]\n', "[lab]\n\n[probes]\n"],
    ['[lab]\n# mine\npins = ["a"]\n', "[lab]\n# mine\n"],
    ['[lab]\npins = ["a"]\nother = 1\n', "[lab]\nother = 1\n"],
    ['[lab]\npins = ["a", "b"]\n', '[lab]\npins = ["b"]\n'],
    ['[lab]\npins = ["b", "a"]\n', '[lab]\npins = ["b"]\n'],
    ['[lab]\npins = ["b", "a", "c"]\n', '[lab]\npins = ["b", "c"]\n'],
    ['[lab]\npins = [\n  "a",\n  "b"\n]\n', '[lab]\npins = [\n  "b"\n]\n'],
    ['[lab]\npins = [\n  "b",\n  "a" # why\n]\n', '[lab]\npins = [\n  "b"\n]\n'],
    ['[lab]\npins = [\n  "b", # so\n  "a", # why\n]\n', '[lab]\npins = [\n  "b", # so\n]\n'],
    ['[lab]\npins = ["b", { key = "a", label = "x" }]\n', '[lab]\npins = ["b"]\n'],
    ['lab = { pins = ["a"] }\n', "lab = { pins = [] }\n"],
    ['lab.pins = ["a"]\nx = 1\n', "x = 1\n"],
    ['[[lab.pins]]\nkey = "a"\n\n[[lab.pins]]\nkey = "b"\n', '[[lab.pins]]\nkey = "b"\n'],
    ['[[lab.pins]]\nkey = "b"\n\n[[lab.pins]]\nkey = "a"\n', '[[lab.pins]]\nkey = "b"\n'],
    [
      '[[lab.pins]]\nkey = "b"\n\n[[lab.pins]]\nkey = "a"\n\n# p\n[probes]\n',
      '[[lab.pins]]\nkey = "b"\n\n# p\n[probes]\n',
    ],
    ["[lab]\npins = []\n", "[lab]\npins = []\n"],
    ["x = 1\n", "x = 1\n"],
  ])("%j becomes %j", (before, after) => {
    expect(removePin(before, "a")).toBe(after);
  });

  it("is found under any of its paths", () => {
    const text = addPin(BODY, pin("flows.0.count"));
    expect(removePin(text, "flows.tcp.count")).toBe(BODY);
  });
});

describe("pins", () => {
  const texts = [
    "",
    BODY,
    "# only a comment\n",
    "x = 1\r\ny = 2\r\n",
    `# before\n[lab]\n# in\npins = ["p"] # after\n\n${BODY}`,
    `lab.pins = ["p"]\n${BODY}`,
    `${BODY}\n[lab]\npins = [\n    "p", # one\n    { key = "q", from = "1 s" }, # two\n]\n# end\n`,
    `${BODY}\n[lab]\npins = [\n\t"p"\n\t, "q"]\n\n[probes]\n`,
    `[[lab.pins]]\nkey = "p"\n\n\n# flows\n${BODY}`,
    `lab = {pins=["p"]}\n${BODY}`,
    `broken = [1,\n${BODY}x = {\n`,
  ];

  it("are added and removed without another change", () => {
    for (const text of texts) {
      let pinned = text;
      for (const key of ["a", "duration", 'b."c d"']) {
        const before = pinsOf(pinned).map(one => one.key);
        pinned = addPin(pinned, pin(key));
        expect(
          pinsOf(pinned).map(one => one.key),
          JSON.stringify(pinned),
        ).toEqual([...before, key]);
      }
      for (const key of ["duration", "a", 'b."c d"']) {
        pinned = togglePin(pinned, pin(key));
      }
      expect(pinsOf(pinned)).toEqual(pinsOf(text));
      // Line breaks at the end may differ: a text is complete only with one.
      const loose = (one: string) => one.replace(/\s+$/, "").replace(/, (?=\])/, "");
      expect(loose(pinned)).toBe(loose(text));
    }
  });

  it("are added to each example and removed again", () => {
    const examples = import.meta.glob<string>("../../../examples/*.toml", {
      query: "?raw",
      import: "default",
      eager: true,
    });
    expect(Object.keys(examples).length).toBeGreaterThan(10);
    for (const [name, text] of Object.entries(examples)) {
      const pinned = addPin(text, pin("warmup"));
      expect(pinsOf(pinned).length, name).toBe(pinsOf(text).length + 1);
      expect(removePin(pinned, "warmup"), name).toBe(text);
    }
  });

  it("toggle", () => {
    const on = togglePin(BODY, pin("duration"));
    expect(pinsOf(on)).toHaveLength(1);
    expect(togglePin(on, pin("duration"))).toBe(BODY);
  });

  it("are read with their bounds, and what is no pin is not", () => {
    expect(pinsOf('[lab]\npins = ["a", { key = "b", from = 0.1, to = "2" }, 3, { from = "1" }]')).toEqual([
      pin("a"),
      pin("b", { from: "0.1", to: "2" }),
    ]);
    expect(pinsOf("[lab]\npins = 3")).toEqual([]);
  });
});
