import { expect, test } from "vitest";
import { valueAt, withValues } from "../../scenario-edit";

const TEXT = `# A line.
duration = "4 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" } # of each source

[topology.star.bottleneck]
rate = "20 Mbps"
# The queue.
queue.drop_tail = { limit = "100 packets" }

[[flows]]
name = "tcp"
transport = "tcp"

[[flows]]
name = "flood"
count = 2
transport.udp = { packet = "1000 B", constant = { rate = "20 Mbps" } }
`;

test("a value is replaced where it is written", () => {
  const changed = withValues(TEXT, { "flows.flood.transport.udp.constant.rate": "5 Mbps", "flows.flood.count": 3 });
  expect(changed).toBe(TEXT.replace('rate = "20 Mbps" } }', 'rate = "5 Mbps" } }').replace("count = 2", "count = 3"));
  expect(valueAt(changed, "flows.flood.count")).toBe(3);
});

test("dotted keys below a path become one value", () => {
  const changed = withValues(TEXT, { "topology.star.bottleneck.queue": "{ dbl = { limit = 9 } }" });
  expect(changed).toBe(TEXT.replace('queue.drop_tail = { limit = "100 packets" }', "queue = { dbl = { limit = 9 } }"));
  const twice = TEXT.replace("# The queue.", 'queue.drop_tail.x = "y"').replace(
    'queue.drop_tail = { limit = "100 packets" }',
    "queue.drop_tail.limit = 5",
  );
  expect(withValues(twice, { "topology.star.bottleneck.queue": "dbl" })).toContain(
    'rate = "20 Mbps"\nqueue = "dbl"\n\n[[flows]]',
  );
});

test("a new key goes to the end of its table", () => {
  const changed = withValues(TEXT, { "topology.star.bottleneck.delay": "2 ms", "flows.tcp.start": "1 s", seed: 7 });
  expect(valueAt(changed, "topology.star.bottleneck.delay")).toBe("2 ms");
  expect(valueAt(changed, "flows.tcp.start")).toBe("1 s");
  expect(valueAt(changed, "seed")).toBe(7);
  expect(changed).toContain('transport = "tcp"\nstart = "1 s"\n\n[[flows]]');
  expect(withValues("a = {}", { "a.b": true })).toBe("a = { b = true }");
  expect(valueAt(withValues(TEXT, { "topology.star.access.queue": "red" }), "topology.star.access.queue")).toBe("red");
});

test("a path without a table is refused", () => {
  expect(() => withValues(TEXT, { "flows.udp.count": 1 })).toThrow("no table flows.udp");
});
