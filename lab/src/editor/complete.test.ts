import { describe, expect, it } from "vitest";
import text from "../../../python/forebay/scenario.schema.json?raw";
import { complete, hover } from "./complete";
import { type Alternative, bounds, quantity, Schema, typeText } from "./schema";
import { parse } from "./toml";

const schema = new Schema(JSON.parse(text));

function proposed(marked: string, paths: string[] = []) {
  const position = marked.indexOf("|");
  return complete(marked.replace("|", ""), position, schema, paths);
}

function labels(marked: string): string[] {
  return proposed(marked)?.proposals.map(proposal => proposal.label) ?? [];
}

/** The text after the first proposal with that label, with the selection in brackets. */
function accepted(marked: string, label: string, paths: string[] = []): string {
  const found = proposed(marked, paths);
  const proposal = found?.proposals.find(one => one.label === label);
  if (!found || !proposal) {
    return `no ${label}`;
  }
  const plain = marked.replace("|", "");
  const { insert, select } = proposal;
  const inserted = `${insert.slice(0, select.from)}⟨${insert.slice(select.from, select.to)}⟩${insert.slice(select.to)}`;
  return plain.slice(0, found.from) + inserted + plain.slice(found.to);
}

const STAR = '[topology.star]\naccess = { rate = "1 Mbps", delay = "1 ms" }\n';

describe("completion of keys", () => {
  it("offers the keys of the root and the sections", () => {
    expect(labels("fl|")).toContain("[[flows]]");
    expect(labels("dur|")).not.toContain("[[flows]]");
    const found = labels("|");
    expect(found).toContain("duration");
    expect(found).toContain("[[flows]]");
    expect(found).toContain("[topology.star]");
    expect(found).toContain("[probes]");
  });

  it("offers keys next to one with a typing error", () => {
    expect(labels("[[flows]]\ntransport = { tcp = { congg = 1, s|}}")).toContain("sack");
    expect(labels("[[flows]]\ntransport = { tcp = { cong|}}")).toContain("congestion_control");
  });

  it("leaves out keys that are there", () => {
    expect(labels('duration = "1 s"\n|')).not.toContain("duration");
    expect(labels('warmup = "1 s"\n|')).toContain("duration");
    expect(labels(`${STAR}|`)).toContain("bottleneck");
    expect(labels(`${STAR}|`)).not.toContain("access");
    expect(labels('a = 1\n\n[topology.star]\nbottleneck = { rate = "1 Mbps", | }')).toEqual(
      expect.arrayContaining(["delay", "queue", "impairments"]),
    );
    expect(labels('[topology.star]\nbottleneck = { rate = "1 Mbps", | }')).not.toContain("rate");
  });

  it("offers a key that is being changed", () => {
    expect(labels('[topology.star]\nbottleneck = { ra|te = "1 Mbps" }')).toContain("rate");
  });

  it("offers the choices of a table, and none beside a chosen one", () => {
    const disciplines = labels("[topology.star]\nbottleneck = { queue = { |");
    expect(disciplines).toEqual(expect.arrayContaining(["drop_tail", "dbl", "fq_codel", "sfb"]));
    expect(labels("[topology.star]\nbottleneck = { queue = { dbl = {}, | } }")).not.toContain("red");
    expect(labels("[topology.star]\nbottleneck.queue.|")).toContain("dbl");
    expect(labels("[[flows]]\ntransport.|")).toEqual([
      "tcp",
      "uec",
      "ndp",
      "homa",
      "pfabric",
      "roce",
      "udp",
      "cells",
      "frames",
    ]);
  });

  it("offers the parameters of a discipline in a broken text", () => {
    expect(labels("[topology.star]\nbottleneck = { queue.dbl = { l|\n\n[[flows]]\n")).toContain("limit");
    expect(labels("[topology.star]\nbottleneck = { queue.dbl = { l|\n\n[[flows]]\n")).not.toContain("gain");
  });

  it("offers tables in headers", () => {
    expect(labels("[|]")).toContain("topology");
    expect(labels("[|]")).not.toContain("duration");
    expect(labels("[topology.|]")).toContain("dumbbell");
    expect(labels("[topology.star.|]")).toContain("bottleneck");
    expect(labels("[[|]]")).toContain("flows");
    expect(labels('[[flows]]\nname = "a"\n\n[flows.transport.|]')).toContain("udp");
    expect(labels("[topology.star.bottleneck.queue.dbl]\n|")).toContain("limit");
  });

  it("writes a value to begin with", () => {
    expect(accepted("dur|", "duration")).toBe('duration = "⟨10 ms⟩"');
    expect(accepted("[topology.star]\nacc|", "access")).toBe("[topology.star]\naccess = { ⟨⟩ }");
    expect(accepted("[probes]\nint|", "interval")).toBe('[probes]\ninterval = "⟨100 ms⟩"');
    expect(accepted("[probes]\nser|", "series")).toBe("[probes]\nseries = [⟨⟩]");
    expect(accepted("se|", "seed")).toBe("seed = ⟨1⟩");
    expect(accepted("[[flows]]\nna|", "name")).toBe('[[flows]]\nname = "⟨⟩"');
    expect(accepted("[[flows]]\ntr|", "transport")).toBe("[[flows]]\ntransport = ⟨⟩");
    expect(accepted("[[flows]]\ntr| = 1", "transport")).toBe("[[flows]]\ntransport⟨⟩ = 1");
    expect(accepted("[topology.star]\nbottleneck.queue.|", "dbl")).toBe(
      "[topology.star]\nbottleneck.queue.dbl = { ⟨⟩ }",
    );
    expect(accepted("fl|", "[[flows]]")).toBe("[[flows]]\n⟨⟩");
  });
});

describe("completion of values", () => {
  it("offers names with their descriptions", () => {
    const found = proposed("[topology.star]\nbottleneck.queue = |")?.proposals ?? [];
    const dbl = found.find(proposal => proposal.label === "dbl");
    expect(dbl?.description).toMatch(/^Dynamic buffer limiting/);
    expect(accepted("[topology.star]\nbottleneck.queue = |", "dbl")).toBe(
      '[topology.star]\nbottleneck.queue = "dbl"⟨⟩',
    );
    expect(accepted("[topology.star]\nbottleneck.queue =|", "dbl")).toBe('[topology.star]\nbottleneck.queue = "dbl"⟨⟩');
    expect(accepted("[topology.star]\nbottleneck.queue = 'd|'", "dbl")).toBe(
      "[topology.star]\nbottleneck.queue = 'dbl'⟨⟩",
    );
    expect(accepted('[topology.star]\nbottleneck.queue = "d|', "dbl")).toBe(
      '[topology.star]\nbottleneck.queue = "dbl"⟨⟩',
    );
    expect(accepted("[topology.star]\nbottleneck.queue = |", "{ dbl = … }")).toBe(
      "[topology.star]\nbottleneck.queue = { dbl = { ⟨⟩ } }",
    );
  });

  it("offers presets, enumerations and booleans", () => {
    expect(labels('[[flows]]\ntransport.tcp.preset = "|')).toEqual(
      expect.arrayContaining(["basic", "rfc", "linux", "ns2"]),
    );
    expect(labels('[[flows]]\ntransport.tcp.congestion_control = "|')).toEqual(
      expect.arrayContaining(["cubic", "bbr", "newreno"]),
    );
    expect(labels('[probes]\nseries = ["queues", "|"]')).toEqual(expect.arrayContaining(["queues", "flows", "links"]));
    expect(labels("[[flows]]\ntransport.tcp.sack = |")).toEqual(["true", "false"]);
  });

  it("offers units behind a number, and an example for nothing", () => {
    expect(labels('duration = "5|"').slice(0, 3)).toEqual(["5 ms", "5 s", "5 us"]);
    expect(accepted('duration = "5|"', "5 s")).toBe('duration = "5 s"⟨⟩');
    expect(labels('[topology.star]\naccess.rate = "2.5 |"')).toContain("2.5 Mbps");
    expect(accepted("duration = |", '"10 ms"')).toBe('duration = "⟨10 ms⟩"');
  });

  it("offers paths as pins", () => {
    const paths = ["topology.star.access.rate", "duration"];
    expect(accepted("[lab]\npins = [|]", "duration", paths)).toBe('[lab]\npins = ["duration"⟨⟩]');
    expect(accepted("[lab]\npins = [{ key = '|' }]", "duration", paths)).toBe("[lab]\npins = [{ key = 'duration'⟨⟩ }]");
  });

  it("offers names that the scenario defines", () => {
    const flows = '[[flows]]\nname = "a"\n[[flows]]\nname = "b\\"c"\n';
    expect(labels(`${flows}hosts_of = "|"`)).toEqual(["a"]);
    expect(labels(`${flows}[probes]\nsenders = [|]`)).toEqual(["a", 'b"c']);
    expect(accepted(`${flows}[probes]\nsenders = [|]`, 'b"c')).toMatch(/senders = \['b"c'⟨⟩\]$/);
    const graph = '[topology.graph]\nnodes = [{ name = "h" }, { name = "r", kind = "router" }]\n';
    expect(labels(`${graph}[[flows]]\nfrom = "|"`)).toEqual(["h"]);
    expect(labels(`${graph}links = [{ from = "|" }]`)).toEqual(["h", "r"]);
    const home = '[topology.home]\nhosts = [{ name = "laptop" }]\nservers = [{ name = "cloud" }]\n';
    expect(labels(`${home}[[flows]]\nto = ["cloud", "|"]`)).toEqual(["laptop", "cloud"]);
    const ethernet = '[topology.ethernet]\nswitches = [{ name = "s", nodes = ["n", { name = "m", count = 3 }] }]\n';
    expect(labels(`${ethernet}[[flows]]\nto = "|"`)).toEqual(["n", "m"]);
    expect(labels(`${ethernet}trunks = [["|"]]`)).toEqual(["s"]);
  });

  it("offers nothing in comments and behind values", () => {
    expect(proposed('duration = "1 s" # du|')).toBeUndefined();
    expect(proposed('duration = "1 s" |')).toBeUndefined();
  });
});

describe("hover", () => {
  const shown = (marked: string) => hover(marked.replace("|", ""), marked.indexOf("|"), schema);

  it("describes keys with type and default", () => {
    expect(shown('warm|up = "1 s"')).toMatchObject({
      title: "warmup",
      type: 'time, such as "10 ms"',
      default: '"0 ps"',
      required: false,
      from: 0,
      to: 6,
    });
    expect(shown("[topology.st|ar]")?.description).toMatch(/^Sources with access links/);
    expect(shown('[topology.star]\nbottleneck = { queue.db|l = { limit = "1 packets" } }')?.description).toMatch(
      /^Dynamic buffer limiting/,
    );
  });

  it("describes each key of the examples", () => {
    const examples = import.meta.glob<string>("../../../examples/*.toml", {
      query: "?raw",
      import: "default",
      eager: true,
    });
    let keys = 0;
    for (const [name, example] of Object.entries(examples)) {
      for (const slot of parse(example).slots) {
        if (slot.kind === "key" && slot.word !== "") {
          const found = hover(example, slot.from, schema);
          expect(found?.title, `${name}: ${[...slot.path, slot.word].join(".")}`).toBe(slot.word);
          expect(found?.type).not.toBe("");
          keys += 1;
        }
      }
    }
    expect(keys).toBeGreaterThan(300);
  });

  it("describes names", () => {
    expect(shown('[topology.star]\nbottleneck.queue = "sf|b"')?.description).toMatch(/^Stochastic Fair BLUE/);
    expect(shown('[[flows]]\ntransport.tcp = { preset = "lin|ux" }')?.title).toBe("linux");
  });

  it("describes nothing where nothing is known", () => {
    expect(shown("unknown| = 1")).toBeUndefined();
    expect(shown("# dura|tion")).toBeUndefined();
    expect(shown("|")).toBeUndefined();
  });
});

describe("the schema of scenarios", () => {
  const all: Alternative[] = Object.entries(schema.root.$defs ?? {}).flatMap(([name, definition]) =>
    schema.alternatives(definition, name),
  );

  it("has units for each quantity", () => {
    const found = all.map(quantity).filter(of => of !== undefined);
    expect(found.length).toBeGreaterThan(3);
    for (const of of found) {
      expect(of.units.length).toBeGreaterThan(1);
      expect(of.units).toContain(of.example.split(" ")[1]);
    }
  });

  it("resolves each key to a type in words", () => {
    let keys = 0;
    for (const described of schema.keys(all)) {
      expect(typeText(described.alternatives), described.key).not.toBe("");
      keys += 1;
    }
    expect(keys).toBeGreaterThan(300);
  });

  it("has bounds of numbers", () => {
    const of = (path: string) => bounds(schema.at(path.split("."))?.alternatives ?? []);
    expect(of("topology.star.bottleneck.impairments.duplication")).toEqual({ least: 0, most: 1, integral: false });
    expect(of("seed")).toEqual({ least: 0, most: undefined, integral: true });
    expect(of("duration")).toBeUndefined();
  });
});
