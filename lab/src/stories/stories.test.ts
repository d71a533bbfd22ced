import { expect, test } from "vitest";
import { valueAt, withValues } from "../../scenario-edit";
import { readEntry, readStory } from "../../stories-plugin";
import { PANELS } from "../app/figures";
import { loadStory, stepHash, stories, storyAfter } from "./index";
import type { Content, Story } from "./story";

const SOURCE = `---
title = "A story"
summary = "In short."
read_on = "papers/dbl.html"
order = 3
---

First *words*.

## One step

Text with \`code\` & more,
on two lines.

Question: Is 2 > 1?

> Yes, **always**.

\`\`\`step
set = { "flows.tcp.count" = 2 }
turn = { key = "flows.tcp.count", from = "1", to = "9", label = "Flows" }
show = ["goodput"]
\`\`\`
`;
const SCENARIO = '[[flows]]\nname = "tcp"\ncount = 1\n';

function plain(content: readonly Content[]): string {
  return content.map(it => (typeof it === "string" ? it : plain(it.children))).join("");
}

test("a story is read into elements and steps", () => {
  const story = readStory("a", SOURCE, new Map([["scenario.toml", SCENARIO]]));
  expect(story).toMatchObject({ name: "a", title: "A story", summary: "In short.", readOn: "papers/dbl.html" });
  expect(story.intro).toEqual([{ tag: "p", children: ["First ", { tag: "em", children: ["words"] }, "."] }]);
  expect(story.steps).toEqual([
    {
      title: "One step",
      text: [{ tag: "p", children: ["Text with ", { tag: "code", children: ["code"] }, " & more, on two lines."] }],
      question: ["Is 2 > 1?"],
      see: [{ tag: "p", children: ["Yes, ", { tag: "strong", children: ["always"] }, "."] }],
      scenario: '[[flows]]\nname = "tcp"\ncount = 2\n',
      compare: [],
      turn: { key: "flows.tcp.count", from: "1", to: "9", label: "Flows" },
      show: ["goodput"],
    },
  ]);
  expect(readEntry("a", SOURCE)).toEqual({
    name: "a",
    title: "A story",
    summary: "In short.",
    order: 3,
    steps: ["One step"],
  });
});

test("a faulty story stops the build", () => {
  const scenarios = new Map([["scenario.toml", SCENARIO]]);
  expect(() => readStory("a", SOURCE.replace("> Yes", "Yes"), scenarios)).toThrow("One step: a step has");
  expect(() => readStory("a", SOURCE.replace('flows.tcp.count", from', 'flows.x.count", from'), scenarios)).toThrow(
    "no flows.x.count",
  );
  expect(() => readStory("a", SOURCE.replace("*words*", "<b>words</b>"), scenarios)).toThrow("a story has no html");
  expect(() => readStory("a", SOURCE.replace("set =", 'scenario = "b.toml"\nset ='), scenarios)).toThrow("no b.toml");
});

test("there are eight stories, in their order", async () => {
  expect(stories.map(it => it.order)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(stories[0]?.name).toBe("contain-a-flood");
  expect(storyAfter("contain-a-flood")).toBe(stories[1]);
  expect(storyAfter("bbr-and-cubic")?.name).toBe("incast-in-a-fabric");
  expect(storyAfter("incast-in-a-fabric")).toBeUndefined();
  expect(loadStory("no-such")).toBeUndefined();
  expect(loadStory("toString")).toBeUndefined();
  expect(stepHash("l4s", 2)).toBe("#/story/l4s/2");
});

test.each(stories.map(it => [it.name, it] as const))("%s has all that its page needs", async (name, entry) => {
  const story = (await loadStory(name)) as Story;
  expect(story.steps.map(it => it.title)).toEqual(entry.steps);
  for (const step of story.steps) {
    expect(PANELS).toEqual(expect.arrayContaining(step.show));
    expect(plain(step.question)).toMatch(/\?$/);
    expect(plain(step.see)).not.toBe("");
    const position = valueAt(step.scenario, step.turn.key);
    expect(String(position)).toMatch(/^[\d.]+( \w+)?$/);
    // The text takes any position of the slider.
    const turned = withValues(step.scenario, { [step.turn.key]: typeof position === "number" ? 2 : step.turn.to });
    expect(valueAt(turned, step.turn.key)).toBe(typeof position === "number" ? 2 : step.turn.to);
  }
});
