import { describe, expect, it } from "vitest";
import { countsText, groupOf, planSeries } from "./flows";

describe("groupOf", () => {
  it("removes the number of a flow, but not of its group", () => {
    expect(groupOf("tcp-3")).toBe("tcp");
    expect(groupOf("tcp-3 (ACKs)")).toBe("tcp (ACKs)");
    expect(groupOf("fq-2-10")).toBe("fq");
    expect(groupOf("culprit-2-6/request")).toBe("culprit/request");
    expect(groupOf("flood")).toBe("flood");
    expect(groupOf("-3")).toBe("");
  });

  it("takes the longest known group that fits", () => {
    const groups = ["fq", "fq-2", "web"];
    expect(groupOf("fq-2-10", groups)).toBe("fq-2");
    expect(groupOf("fq-3", groups)).toBe("fq");
    expect(groupOf("web/request", groups)).toBe("web");
    expect(groupOf("web-1 (ACKs)", groups)).toBe("web (ACKs)");
    expect(groupOf("webs-1", groups)).toBe("webs");
  });
});

describe("planSeries", () => {
  it("gives each flow a look, in the order of names", () => {
    const { series, indexOf } = planSeries(["flood", "tcp-10", "tcp-9", "flood"]);
    expect(series).toEqual([
      { name: "flood", look: 0 },
      { name: "tcp-9", look: 1 },
      { name: "tcp-10", look: 2 },
    ]);
    expect(indexOf.get("tcp-10")).toBe(2);
  });

  it("takes the looks of the charts, and free ones for other flows", () => {
    const looks = new Map([
      ["tcp-1", 1],
      ["tcp-0", 0],
      ["flood", 5],
    ]);
    const { series } = planSeries(["flood", "tcp-1", "tcp-1 (ACKs)", "tcp-0"], { lookOf: flow => looks.get(flow) });
    expect(series.map(({ name, look }) => `${name} ${look}`)).toEqual([
      "tcp-0 0",
      "tcp-1 1",
      "flood 5",
      "tcp-1 (ACKs) 6",
    ]);
  });

  it("groups many flows of several groups, but not those of one group", () => {
    const many = Array.from({ length: 30 }, (_, number) => `tcp-${number}`);
    expect(planSeries(many).series).toHaveLength(30);
    const mixed = planSeries([...many, "flood"]);
    expect(mixed.series.map(series => series.name)).toEqual(["flood", "tcp"]);
    expect(mixed.indexOf.get("tcp-29")).toBe(1);
    const ordered = planSeries([...many, "flood", "tcp-1 (ACKs)"], { groups: ["other", "tcp", "flood"] });
    expect(ordered.series).toEqual([
      { name: "tcp", look: 1 },
      { name: "flood", look: 2 },
      { name: "tcp (ACKs)", look: 3 },
    ]);
  });
});

describe("countsText", () => {
  it("counts by group, the largest first", () => {
    const counts = new Map([
      ["tcp-0", 5],
      ["flood", 5],
      ["tcp-1", 7],
      ["idle", 0],
    ]);
    expect(countsText(counts)).toBe("tcp 12, flood 5");
    expect(countsText(counts, [], 1)).toBe("tcp 12, others 5");
    expect(countsText(new Map())).toBe("");
  });
});
