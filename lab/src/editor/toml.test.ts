import { describe, expect, it } from "vitest";
import { resolve, splitPath } from "./paths";
import { nodeAt, parse, slotAt } from "./toml";

/** The slot at `|`, in a line: kind, path, word. */
function at(marked: string): string {
  const position = marked.indexOf("|");
  const slot = slotAt(parse(marked.replace("|", "")), position);
  if (!slot) {
    return "nothing";
  }
  const path = slot.path.join(".") || "(root)";
  return `${slot.kind} ${slot.within === "line" ? "" : `${slot.within} `}${path} ${JSON.stringify(slot.word)}`;
}

const FLOWS = '[[flows]]\nname = "tcp"\n\n[[flows]]\nname = "flood"\n';

describe("the slot at a place", () => {
  it.each([
    ["|", 'key (root) ""'],
    ["dur|", 'key (root) "dur"'],
    ["dur|ation = 1", 'key (root) "duration"'],
    ["duration = |", 'value duration ""'],
    ["duration =|", 'value duration ""'],
    ['duration = "|', 'value duration ""'],
    ['duration = "10 |s"', 'value duration "10 s"'],
    ["duration = 1 # a| comment", 'comment (root) ""'],
    ["[topology.star]\n|\n", 'key topology.star ""'],
    ["[topology.star]\nbottleneck.|", 'key topology.star.bottleneck ""'],
    ["[topology.star]\nbottleneck.queue.dr| = 1", 'key topology.star.bottleneck.queue "dr"'],
    ["[topology.star]\nbottleneck = { |", 'key braces topology.star.bottleneck ""'],
    ["[topology.star]\nbottleneck = {|}", 'key braces topology.star.bottleneck ""'],
    ["[topology.star]\nbottleneck = { rate = 1, | }", 'key braces topology.star.bottleneck ""'],
    ["[topology.star]\nbottleneck = { rate = 1, de| }", 'key braces topology.star.bottleneck "de"'],
    ["[topology.star]\nbottleneck = { rate = 1, queue.re| }", 'key braces topology.star.bottleneck.queue "re"'],
    ["[topology.star]\nbottleneck = { rate = | }", 'value topology.star.bottleneck.rate ""'],
    ["[topology.star]\nbottleneck = { queue = { dbl = { l|", 'key braces topology.star.bottleneck.queue.dbl "l"'],
    [
      "[topology.star]\nbottleneck = { queue.dbl = { l|\n[[flows]]",
      'key braces topology.star.bottleneck.queue.dbl "l"',
    ],
    ["[topology.|]", 'key header topology ""'],
    ["[topo|", 'key header (root) "topo"'],
    ["[[fl|]]", 'key itemHeader (root) "fl"'],
    [`${FLOWS}|`, 'key flows.1 ""'],
    [`${FLOWS}start = { uni|`, 'key braces flows.1.start "uni"'],
    [`${FLOWS}[flows.transport.|]`, 'key header flows.transport ""'],
    [`${FLOWS}[flows.transport.udp]\n|`, 'key flows.1.transport.udp ""'],
    ["[probes]\nseries = [|]", 'value probes.series.0 ""'],
    ["[probes]\nseries = [|", 'value probes.series.0 ""'],
    ['[probes]\nseries = ["queues", |]', 'value probes.series.1 ""'],
    ['[probes]\nseries = ["queues", "fl|"]', 'value probes.series.1 "fl"'],
    ['[probes]\nseries = [\n  "queues",\n  |\n]', 'value probes.series.1 ""'],
    ['[probes]\nseries = [\n  "queues",\n|\n[[flows]]\nname = "x"', 'key probes ""'],
    ["hosts = [{ name = 1 }, { co| }]", 'key braces hosts.1 "co"'],
    ['"a b".|', 'key a b ""'],
    ["a = { b = |}", 'value a.b ""'],
    ["a = [{ b = | }]", 'value a.0.b ""'],
    ["a = [1|]", 'value a.0 "1"'],
    ["a = [1 |]", "nothing"],
    ["a = { b = 1 |}", "nothing"],
    ["transport = { tcp = { cong|}}", 'key braces transport.tcp "cong"'],
    ["duration = 1 |", "nothing"],
  ])("%j", (marked, expected) => {
    expect(at(marked)).toBe(expected);
  });
});

describe("the tree", () => {
  it("has the values of valid text at their places", () => {
    const text = `${FLOWS}transport.udp = { packet = "1000 B", constant = { rate = '100 Mbps' } } # so
list = [
  1, # one
  2.5,
]
long = """
a \\"quoted\\" text"""
`;
    const document = parse(text);
    const written = (path: string) => {
      const node = resolve(document, path);
      return node && text.slice(node.from, node.to);
    };
    expect(written("flows.flood.transport.udp.constant.rate")).toBe("'100 Mbps'");
    expect(written("flows.1.transport.udp.packet")).toBe('"1000 B"');
    expect(written("flows.1.list.1")).toBe("2.5");
    expect(written("flows.flood.list")).toContain("# one");
    expect(written("flows.tcp.transport")).toBeUndefined();
    const long = resolve(document, "flows.flood.long");
    expect(long?.kind === "scalar" && long.value).toBe('a "quoted" text');
  });

  it("goes on behind a line that is broken", () => {
    for (const broken of [
      "x = [1, 2",
      "x = { a = 1",
      'x = "a',
      "x",
      "x =",
      "= 1",
      "]",
      "x = { y = [",
      "[a",
      "{",
      "x.=1",
    ]) {
      const document = parse(`${broken}\nduration = "1 s"\n\n[[flows]]\nname = "tcp"\n`);
      const duration = document.root.entries.concat(
        nodeAt(document, ["a"])?.kind === "table" ? entries(document, "a") : [],
      );
      expect(
        duration.map(entry => entry.key),
        broken,
      ).toContain("duration");
      expect(resolve(document, "flows.tcp.name"), broken).toBeDefined();
    }
  });

  it("ends for any prefix of a text, and for deep nesting", () => {
    const text = `${FLOWS}a = { b = [1, { c = """x""" }], d."e f" = 'g' } # h\n[[lab.pins]]\nkey = "a"\n`;
    for (let end = 0; end <= text.length; end += 1) {
      const document = parse(text.slice(0, end));
      for (const slot of document.slots) {
        expect(slot.from).toBeLessThanOrEqual(slot.to);
        expect(slot.to).toBeLessThanOrEqual(end);
      }
    }
    parse("[".repeat(100_000));
    parse(`a = ${"[".repeat(100_000)}`);
    parse(`a = ${"{a=".repeat(50_000)}`);
  });

  it("takes a time that grows with the text, not with its square", () => {
    const many = (piece: string, start = "") => start + piece.repeat(Math.floor(250_000 / piece.length));
    const texts = [
      many("a."),
      many('\\"""', 'a = """'),
      many("[a.b]\n"),
      many("b=1,", "a={"),
      many("a=[\n"),
      many("\n", "a=[1"),
    ];
    const different = Array.from({ length: 30_000 }, (_, index) => `k${index}.a=1`).join("\n");
    for (const text of [...texts, different]) {
      const started = performance.now();
      parse(text);
      expect(performance.now() - started, text.slice(0, 20)).toBeLessThan(3000);
    }
  }, 30_000);

  it("ends for text of random characters", () => {
    let state = 1;
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    const pieces = ["[", "]", "{", "}", "=", ".", ",", '"', "'", "\n", "\r\n", "#", " ", "a", "1", '"""', "\\", "[["];
    for (let round = 0; round < 3000; round += 1) {
      let text = "";
      for (let piece = 0; piece < 30; piece += 1) {
        text += pieces[random(pieces.length)];
      }
      const document = parse(text);
      slotAt(document, random(text.length + 1));
    }
  });
});

function entries(document: ReturnType<typeof parse>, key: string) {
  const node = nodeAt(document, [key]);
  return node?.kind === "table" ? node.entries : [];
}

it("splits paths at dots outside of quotes", () => {
  expect(splitPath('flows."a.b".count')).toEqual(["flows", "a.b", "count"]);
  expect(splitPath("a..b")).toEqual(["a", "", "b"]);
  expect(splitPath("a.")).toEqual(["a", ""]);
});
