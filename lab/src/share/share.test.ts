import { deflateSync, Zip, ZipDeflate } from "fflate";
import { describe, expect, it } from "vitest";
import { commandOf, quote } from "./command";
import { decodeShared, encodeShared, linkOf, MOST_BYTES } from "./link";
import { notebookOf } from "./notebook";
import { fileStem, queuesOf, type Shared } from "./shared";

const TEXT = 'name = "first"\nduration = "10 s"\n\n[[flows]]\nname = "tcp"\n';

function shared(rest: Partial<Shared> = {}): Shared {
  return { text: TEXT, queues: [], ...rest };
}

function code(of: Shared): string {
  const { code, problem } = encodeShared(of);
  expect(problem).toBeUndefined();
  return code ?? "";
}

/** A link with these bytes behind the version and a checksum. */
function forged(packed: Uint8Array, checksum = 0): string {
  const bytes = new Uint8Array(packed.length + 4);
  new DataView(bytes.buffer).setUint32(0, checksum);
  bytes.set(packed, 4);
  const binary = Array.from(bytes, byte => String.fromCharCode(byte)).join("");
  return `1${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

let state = 7;
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

function randomText(length: number): string {
  const pieces = [
    "a",
    "=",
    '"',
    "\n",
    "\r\n",
    " ",
    "10 Mbps",
    "[[flows]]",
    "µ",
    "日本",
    "😀",
    "\u0000",
    "\\",
    "'",
    "\ufeff",
    "\u2028",
  ];
  let text = "";
  while (text.length < length) {
    text += pieces[random(pieces.length)];
  }
  return text;
}

describe("a link", () => {
  it("has the scenario and what is compared", () => {
    const all: Shared = {
      text: TEXT,
      queues: ["drop_tail", "gentle=red:gentle=true,max_threshold=60 packets"],
      at: "topology.star.bottleneck.queue",
      seed: 7,
      overrides: [["flows.tcp.count", "5"]],
    };
    expect(decodeShared(code(all)).shared).toEqual(all);
    expect(decodeShared(code(shared())).shared?.text).toBe(TEXT);
    expect(code(shared())).toMatch(/^1[A-Za-z0-9_-]+$/);
    expect(linkOf("1abc", "http://x/lab/?a=1#/lab?s=old", "embed")).toBe("http://x/lab/?a=1#/embed?s=1abc");
  });

  it("returns any text, queues, seed and overrides as they were", () => {
    for (let round = 0; round < 300; round += 1) {
      const text = randomText(random(2000));
      const queues = Array.from({ length: random(4) }, () => randomText(random(30)));
      const overrides = Array.from({ length: random(3) }, (): [string, string] => [randomText(9), randomText(9)]);
      const seed = random(2) ? random(2 ** 31) : undefined;
      const found = decodeShared(code({ text, queues, seed, overrides, at: random(2) ? randomText(9) : undefined }));
      expect(found.shared?.text).toBe(text);
      expect(found.shared?.queues).toEqual(queues);
      expect(found.shared?.seed).toBe(seed);
      expect(found.shared?.overrides ?? []).toEqual(overrides);
    }
  });

  it("holds the longest scenario, and no longer one", () => {
    const longest = randomBytes(MOST_BYTES);
    expect(decodeShared(code(shared({ text: longest }))).shared?.text).toBe(longest);
    expect(encodeShared(shared({ text: `${longest}a` })).problem).toMatch(/256 KiB/);
    expect(encodeShared(shared({ text: "µ".repeat(MOST_BYTES / 2 + 1) })).problem).toMatch(/256 KiB/);
    expect(encodeShared(shared({ queues: Array(100).fill("red") })).code).toBeUndefined();
  });

  it("is refused if any of its characters is missing or changed", () => {
    const whole = code(shared({ queues: ["dbl"] }));
    for (let end = 0; end < whole.length; end += 1) {
      expect(decodeShared(whole.slice(0, end)).shared, String(end)).toBeUndefined();
    }
    for (let at = 0; at < whole.length; at += 1) {
      for (const letter of "AZaz09-_%") {
        const changed = whole.slice(0, at) + letter + whole.slice(at + 1);
        const { shared: found } = decodeShared(changed);
        // The last bits of the stream mean nothing.
        if (changed !== whole && found) {
          expect(at).toBeGreaterThan(whole.length - 3);
          expect(found).toEqual(decodeShared(whole).shared);
        }
      }
    }
  });

  it("is refused with one message for anything else", () => {
    for (const bad of ["", "1", "0abc", "1AAAAAAAA", "1====", "x", "1%00", "1😀", "1AAAA", `1${"A".repeat(1000)}`]) {
      expect(decodeShared(bad).problem, bad).toMatch(/^This link is damaged or cut off\./);
    }
    expect(decodeShared("2abc").problem).toMatch(/newer version/);
    for (let round = 0; round < 300; round += 1) {
      const bytes = Uint8Array.from({ length: random(200) }, () => random(256));
      expect(decodeShared(forged(bytes)).shared).toBeUndefined();
    }
  });

  it("is refused early if it decompresses to too much", () => {
    const bomb = deflateSync(new Uint8Array(100_000_000), { level: 9 });
    expect(bomb.length).toBeLessThan(250_000);
    const started = performance.now();
    expect(decodeShared(forged(bomb)).problem).toMatch(/at most 256 KiB/);
    expect(performance.now() - started).toBeLessThan(200);
    expect(decodeShared(`1${"A".repeat(1_000_000)}`).problem).toMatch(/at most 256 KiB/);
  });

  it("is refused if its first line is not what it should be", () => {
    expect(decodeShared(sealed(`{}\n${TEXT}`)).shared?.text).toBe(TEXT);
    const heads = [
      "[]",
      "null",
      "1",
      "{",
      '{"queues":"red"}',
      '{"queues":[1]}',
      '{"seed":"-1"}',
      '{"seed":1}',
      '{"at":1}',
    ];
    const more = [
      '{"set":[["a"]]}',
      '{"set":[["a",1]]}',
      '{"other":1}',
      `{"at":"${"a".repeat(3000)}"}`,
      "[".repeat(5000),
    ];
    for (const head of [...heads, ...more]) {
      expect(decodeShared(sealed(`${head}\n${TEXT}`)).problem, head.slice(0, 40)).toMatch(/damaged/);
    }
    expect(decodeShared(sealed("{}")).problem).toMatch(/damaged/);
    expect(decodeShared(sealed('{"__proto__":{"queues":["a"]}}\n')).problem).toMatch(/damaged/);
  });
});

/** Text that hardly compresses. */
function randomBytes(length: number): string {
  let text = "";
  while (text.length < length) {
    text += String.fromCharCode(33 + random(90));
  }
  return text;
}

/** A link of any content with a right checksum. */
function sealed(plain: string): string {
  const content = new TextEncoder().encode(plain);
  const packed = deflateSync(content);
  // A zip archive of the same bytes has their CRC-32, too.
  const archive: number[] = [];
  const zip = new Zip((_, part) => archive.push(...part));
  const file = new ZipDeflate("a");
  zip.add(file);
  file.push(content, true);
  zip.end();
  const directory = new DataView(Uint8Array.from(archive).buffer);
  let at = archive.length - 4;
  while (directory.getUint32(at) !== 0x504b0102) {
    at -= 1;
  }
  return forged(packed, directory.getUint32(at + 16, true));
}

it("keeps seeds beyond the integers of a number", () => {
  const seed = 2n ** 64n - 1n;
  const of = shared({ seed });
  expect(decodeShared(code(of)).shared?.seed).toBe(seed);
  expect(commandOf(of)).toBe("forebay run first.toml --seed 18446744073709551615");
  expect(notebookOf(of)).toContain("seed=18446744073709551615");
  expect(decodeShared(sealed('{"seed":"18446744073709551616"}\n')).problem).toMatch(/damaged/);
});

describe("the queues of a comparison", () => {
  it("are none for a single run, and have the name of the scenario's own", () => {
    expect(queuesOf([undefined], "red")).toEqual([]);
    expect(queuesOf([], "red")).toEqual([]);
    expect(queuesOf(["dbl"], "red")).toEqual(["dbl"]);
    expect(queuesOf([undefined, "dbl"], "red")).toEqual(["red", "dbl"]);
    expect(queuesOf([undefined, "red", "dbl"], "red")).toEqual(["red", "dbl"]);
    expect(queuesOf([undefined, "dbl"], undefined)).toEqual(["drop_tail", "dbl"]);
  });
});

describe("the command", () => {
  it("runs the scenario", () => {
    expect(commandOf(shared())).toBe("forebay run first.toml");
    expect(commandOf(shared({ seed: 7, overrides: [["flows.tcp.count", "5"]] }))).toBe(
      "forebay run first.toml --seed 7 --set flows.tcp.count=5",
    );
    expect(
      commandOf(
        shared({
          overrides: [
            ["a.rate", '"20 Mbps"'],
            ["a.queue", '{ dbl = { limit = "5 packets" } }'],
          ],
        }),
      ),
    ).toBe(`forebay run first.toml --set 'a.rate=20 Mbps' --set 'a.queue={ dbl = { limit = "5 packets" } }'`);
    expect(
      commandOf(
        shared({
          overrides: [
            ["a", '"true"'],
            ["b", '"red"'],
            ["c", "'5'"],
          ],
        }),
      ),
    ).toBe(`forebay run first.toml --set 'a="true"' --set b=red --set 'c='\\''5'\\'''`);
  });

  it("compares disciplines", () => {
    expect(commandOf(shared({ queues: ["drop_tail", "dbl"], at: "topology.star.bottleneck.queue", seed: 3 }))).toBe(
      "forebay compare first.toml --queues drop_tail,dbl --at topology.star.bottleneck.queue --set seed=3 --seeds 1",
    );
    expect(commandOf(shared({ queues: ["dbl", "red:max_threshold=60 packets"] }))).toBe(
      "forebay compare first.toml --queue dbl --queue 'red:max_threshold=60 packets' --seeds 1",
    );
  });

  it("quotes words for a shell", () => {
    expect(quote("a.b=c/d-1")).toBe("a.b=c/d-1");
    for (const word of ["", "a b", "$HOME", "`id`", 'a"b', "a'b", "*", "a;b", "~", "!", "a\nb", "{a,b}", "#"]) {
      expect(quote(word)).toBe(`'${word.replaceAll("'", "'\\''")}'`);
    }
  });

  it("has a safe file name", () => {
    const stem = (name: string) => fileStem(`name = ${JSON.stringify(name)}\n`);
    expect(stem("My scenario: café")).toBe("My-scenario-cafe");
    expect(stem("../../etc/passwd")).toBe("etc-passwd");
    expect(stem("-rf")).toBe("rf");
    expect(stem("日本")).toBe("scenario");
    expect(stem("CON")).toBe("scenario");
    expect(stem("a".repeat(200))).toHaveLength(60);
    expect(fileStem('duration = "1 s"')).toBe("scenario");
  });
});

describe("the notebook", () => {
  const cells = (of: Shared): { cell_type: string; id: string; source: string[] }[] => JSON.parse(notebookOf(of)).cells;
  const source = (of: Shared, id: string) =>
    cells(of)
      .find(cell => cell.id === id)
      ?.source.join("");

  it("runs the scenario", () => {
    const of = shared({ text: `${TEXT}[probes]\nseries = ["flows"]\n`, seed: 7 });
    expect(JSON.parse(notebookOf(of))).toMatchObject({ nbformat: 4, nbformat_minor: 5 });
    expect(source(of, "scenario")).toBe(
      `scenario = fb.Scenario.from_toml(\n    """\\\n${of.text}""",\n    "first.toml",\n)\nscenario`,
    );
    expect(source(of, "run")).toBe("result = fb.run(scenario, seed=7)\nresult");
    expect(source(of, "flows")).toBeDefined();
    expect(source(of, "queues")).toBeUndefined();
    const ids = cells(of).map(cell => cell.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every(id => /^[a-zA-Z0-9-_]{1,64}$/.test(id))).toBe(true);
  });

  it("compares disciplines", () => {
    const of = shared({ queues: ["drop_tail", "dbl"], at: "a.queue", seed: 7 });
    expect(source(of, "compare")).toBe(
      'compared = fb.compare(\n    scenario,\n    ["drop_tail", "dbl"],\n    at="a.queue",\n    overrides={"seed": 7},\n    seeds=3,\n)\ncompared',
    );
    expect(source(of, "run")).toBeUndefined();
  });

  it("has the overrides as values of Python", () => {
    const of = shared({
      overrides: [
        ["a.b", '"20 Mbps"'],
        ["c", "true"],
        ["d", '{ dbl = { limit = 5, x = [1.5, "a"] } }'],
        ["e", "20 Mbps"],
      ],
    });
    expect(source(of, "scenario")).toContain(
      'scenario = scenario.override({\n    "a.b": "20 Mbps",\n    "c": True,\n    "d": {"dbl": {"limit": 5, "x": [1.5, "a"]}},\n    "e": "20 Mbps",\n})',
    );
  });

  it("keeps markup and quotes as text", () => {
    const of = shared({ text: 'name = "<b>*x*</b>"\ndescription = "a\\\\ \'\'\' [l](u)"\ns = """q"""\n' });
    expect(source(of, "title")).toContain("# \\<b\\>\\*x\\*\\</b\\>");
    expect(source(of, "title")).toContain("\\[l\\]\\(u\\)");
    expect(source(of, "scenario")).toContain('s = \\"\\"\\"q\\"\\"\\"\n"""');
    expect(source(of, "scenario")).toContain("a\\\\\\\\ '''");
  });
});
