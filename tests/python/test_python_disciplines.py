"""Disciplines written in Python run in the engine like the built-in ones, and their faults are reported."""

from __future__ import annotations

import json
import tomllib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import tomli_w

import forebay as fb
from conftest import Command
from forebay import Verdict
from forebay.disciplines.custom import digest_of, plans_of

QUEUE = "topology.star.bottleneck.queue"

SCENARIO = """
duration = "2 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "drop_tail" }

[[flows]]
name = "tcp"
count = 4
transport.tcp = { ecn = true }

[[flows]]
name = "udp"
transport.udp = { packet = "1000 B", poisson = { rate = "4 Mbps" } }

[probes]
interval = "100 ms"
series = ["queues"]
"""

LAW = """
import forebay as fb

class Limit(fb.AdmissionLaw):
    def __init__(self, packets=10):
        self.packets = packets

    def admit(self, queue_packets):
        return queue_packets < self.packets
"""

LIMITS = [("short", 5), ("long", 50)]

FILE = SCENARIO.replace('"drop_tail"', '{ python = { class = "laws:Limit", parameters = { packets = 7 } } }')


@pytest.fixture(scope="module")
def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO)


def run(scenario: fb.Scenario, queue: object, **overrides: object) -> fb.Result:
    return fb.run(scenario.override({QUEUE: queue, **overrides}))


def queue_row(result: fb.Result) -> dict[str, object]:
    return result.queues.filter(name="bottleneck").to_dicts()[0]


@dataclass
class DropTail(fb.AdmissionLaw):
    """The built-in one's equal."""

    name = "drop_tail"
    limit: int = 30

    def admit(self, queue_packets: int) -> bool:
        return queue_packets < self.limit


class Fifo(fb.QueueDiscipline):
    """The same as a discipline."""

    name = "drop_tail"

    def __init__(self, limit: int = 30) -> None:
        self.limit = limit
        self.waiting: deque[int] = deque()

    def enqueue(self, packet: int, queue_packets: int) -> None:
        if queue_packets < self.limit:
            self.waiting.append(packet)
        else:
            self.drop(packet)

    def dequeue(self) -> int:
        return self.waiting.popleft()


class Blue(fb.AdmissionLaw):
    """Draws for each packet, and marks those that it can."""

    name = "coin"
    gauges = ("share", "seen")
    heads: ClassVar[float] = 0.05

    def __init__(self) -> None:
        self.share = self.random()
        self.seen = 0

    def admit(self, ecn: int, queue_packets: int) -> Verdict:
        self.seen += 1
        if queue_packets >= 50:
            return Verdict.DROP_OVERFLOW
        if self.random() >= self.heads:
            return Verdict.ENQUEUE
        return Verdict.MARK_EARLY if ecn else Verdict.DROP_EARLY


@pytest.mark.parametrize("custom", [DropTail, Fifo])
def test_drop_tail_in_python_is_drop_tail(scenario: fb.Scenario, custom: type) -> None:
    built_in = run(scenario, {"drop_tail": {"limit": "30 packets"}})
    in_python = run(scenario, {"python": custom})
    assert queue_row(built_in)["packets_dropped"] != 0
    assert in_python.digest == built_in.digest


def test_dice_and_marks_are_those_of_the_seed(scenario: fb.Scenario) -> None:
    first, again = run(scenario, {"python": Blue}), run(scenario, {"python": Blue})
    other = run(scenario, {"python": Blue}, seed=2)
    assert first.digest == again.digest != other.digest
    row = queue_row(first)
    assert row["discipline"] == "coin"
    assert row["packets_marked"] != 0
    assert row["dropped_early"] != 0


def test_gauges_become_series(scenario: fb.Scenario) -> None:
    result = run(scenario, {"python": Blue})
    seen = result.series("queue", "bottleneck", "seen")["value"].to_numpy()
    assert np.all(np.diff(seen) >= 0)
    assert 0 < seen[-1] <= queue_row(result)["packets_arrived"]


def test_a_law_is_told_of_releases_and_idle_times(scenario: fb.Scenario) -> None:
    seen: dict[str, list[int]] = {"admitted": [], "released": [], "idle": []}

    class Watcher(fb.AdmissionLaw):
        def admit(self, now: int, packet: int, queue_packets: int) -> bool:
            if queue_packets >= 10:
                return False
            seen["admitted"].append(packet)
            return True

        def release(self, now: int, packet: int, flow: int, length: int, queue_bytes: int) -> None:
            assert length > 0
            seen["released"].append(packet)

        def idle(self, now: int) -> None:
            seen["idle"].append(now)

    row = queue_row(run(scenario, {"python": Watcher}))
    assert len(seen["admitted"]) == row["packets_arrived"] - row["packets_dropped"]  # type: ignore[operator]
    assert seen["released"] == seen["admitted"][: len(seen["released"])]
    assert seen["idle"] == sorted(seen["idle"])
    assert 0 < len(seen["idle"]) < len(seen["released"])


def test_every_argument_says_what_the_table_says(scenario: fb.Scenario) -> None:
    calls: list[tuple[int, ...]] = []

    class All(fb.AdmissionLaw):
        def admit(
            self,
            queue_bytes: int,
            now: int,
            packet: int,
            flow: int,
            length: int,
            ecn: int,
            traffic_class: int,
            input_port: int,
            queue_packets: int,
        ) -> bool:
            calls.append((now, packet, flow, length, ecn, traffic_class, input_port, queue_packets, queue_bytes))
            assert self.link_rate_bps == 10_000_000
            return queue_packets < 100

    result = run(scenario, {"python": All}, **{"flows.udp.class": 3})
    times, packets, flows, lengths, ecn, classes, _, queued, _ = map(np.array, zip(*calls, strict=True))
    assert np.all(np.diff(times) >= 0)
    assert times[-1] <= 2_000_000_000_000
    assert packets.tolist() == list(range(len(calls)))
    udp = flows == 2 * result.flows["name"].to_list().index("udp")
    assert set(lengths[udp]) == {1000}
    assert set(ecn[udp]) == {0}
    assert set(classes[udp]) == {3}
    assert 2 in ecn[~udp]
    assert queued.max() > 10


@pytest.mark.parametrize(
    ("custom", "expected"),
    [
        (lambda: _law(lambda self, packet: 1 // (5 - packet)), "ZeroDivisionError"),
        (lambda: _law(lambda self: None), "it returned None, which is neither True, False nor a forebay.Verdict"),
        (lambda: _law(lambda self: 77), "it returned 77, which is not a forebay.Verdict"),
        (lambda: _law(lambda self: Verdict.MARK_EARLY), "it marked a packet that is not ECN-capable"),
        (lambda: _discipline(lambda self: 10**6), "no packet of this number is queued"),
        (lambda: _discipline(lambda self: -1), "no packet of this number is queued"),
        (lambda: _discipline(lambda self: "next"), "TypeError"),
    ],
)
def test_what_a_discipline_does_wrong_stops_the_run(
    scenario: fb.Scenario, custom: Callable[[], type], expected: str
) -> None:
    with pytest.raises(fb.DisciplineError, match=expected) as caught:
        run(scenario, {"python": custom()})
    assert caught.value.queue == "bottleneck"
    assert caught.value.__cause__ is not None


def _law(admit: Callable[..., object]) -> type:
    return type("Law", (fb.AdmissionLaw,), {"admit": admit, "__module__": __name__})


def _discipline(dequeue: Callable[..., object]) -> type:
    methods = {"enqueue": lambda self: None, "dequeue": dequeue, "__module__": __name__}
    return type("Discipline", (fb.QueueDiscipline,), methods)


@pytest.mark.parametrize("connections", [1, 3])
def test_the_message_names_the_flow_of_a_browser_and_those_behind_it(connections: int) -> None:
    udp = '[[flows]]\nname = "udp"\nstart = "1 s"\ntransport.udp = { packet = "777 B", poisson = { rate = "4 Mbps" } }'
    web = f'[[flows]]\nname = "web"\ntransport = "tcp"\napp.web = {{ objects = 9, connections = {connections} }}'
    scenario = fb.Scenario.from_toml(SCENARIO.partition("[[flows]]")[0] + f"{web}\n{udp}")
    # The handshake comes first, so the queue sees an acknowledgement of the browser first.
    for admit, flow in [
        (lambda self, packet: 1 // packet, r"web/request \(its ACKs\)"),
        (lambda self, length: 1 // (length - 777), "udp"),
    ]:
        with pytest.raises(fb.DisciplineError, match=f"of flow {flow}, at"):
            run(scenario, {"python": _law(admit)})


def test_the_message_names_packet_time_and_flow(tmp_path: Path, forebay: Command) -> None:
    faulty = LAW.replace("return", "if self.packets == 7:\n            raise ValueError('seven')\n        return")
    (tmp_path / "laws.py").write_text(faulty)
    (tmp_path / "faulty.toml").write_text(FILE)
    done = forebay("run", "faulty.toml", "--allow-python")
    assert done.returncode == 2
    assert done.stdout == ""
    folder = str(tmp_path.resolve())
    assert (
        done.stderr.replace(folder, "FOLDER").replace("\n", " ").split()
        == (
            "error: laws:Limit.admit in queue bottleneck failed: ValueError: seven packet 0 of flow tcp-0, at "
            + _first_arrival()
            + ' s file "FOLDER/laws.py", line 10'
        ).split()
    )


def _first_arrival() -> str:
    times: list[int] = []

    class First(fb.AdmissionLaw):
        def admit(self, now: int) -> bool:
            times.append(now)
            return True

    fb.run(fb.Scenario.from_toml(SCENARIO, overrides={QUEUE: {"python": First}}))
    return repr(times[0] / 1e12)


def test_a_file_runs_its_code_only_with_leave(tmp_path: Path, forebay: Command) -> None:
    (tmp_path / "laws.py").write_text(LAW + "\nopen('was-imported', 'w').close()\n")
    path = tmp_path / "limit.toml"
    path.write_text(FILE)
    for command in (["run"], ["compare", "--queue", "python:class=laws:Limit"]):
        refused = forebay(*command, "limit.toml")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "laws:Limit" in refused.stderr
        assert "--allow-python" in refused.stderr
    with pytest.raises(fb.InputError, match="allow_python=True"):
        fb.run(path)
    assert not (tmp_path / "was-imported").exists()
    done = forebay("run", "limit.toml", "--allow-python", "--json")
    assert done.returncode == 0, done.stderr
    (queue,) = [row for row in json.loads(done.stdout)["queues"] if row["name"] == "bottleneck"]
    assert (queue["discipline"], queue["length_max_packets"]) == ("Limit", 7)


def test_compare_takes_a_class(tmp_path: Path, forebay: Command) -> None:
    (tmp_path / "laws.py").write_text(LAW)
    (tmp_path / "limit.toml").write_text(SCENARIO)
    words = ["compare", "limit.toml", "--queue", "red", "--queue", "mine=python:class=laws:Limit", "--seeds", "2"]
    refused = forebay(*words)
    assert (refused.returncode, "--allow-python" in refused.stderr) == (2, True)
    done = forebay(*words, "--json", "--allow-python")
    assert done.returncode == 0, done.stderr
    assert [row["queue"] for row in json.loads(done.stdout)["queues"]] == ["red", "mine"]


def test_compare_takes_a_queue_as_a_scenario_has_it(scenario: fb.Scenario) -> None:
    queues = {"bare": {"python": DropTail}, "long": {"python": {"class": DropTail, "parameters": {"limit": 60}}}}
    compared = fb.compare(scenario, queues, seeds=1)
    bare, longer = compared.table["length_mean_packets"]
    assert 0 < bare < longer
    assert fb.sweep(scenario, {}, queues=queues, seeds=1).points["length_mean_packets"].to_list() == [bare, longer]


def test_stored_runs_are_those_of_the_code_that_made_them() -> None:
    def digest(limit: int) -> str:
        custom = _law(lambda self, queue_packets: queue_packets < limit)
        changed = _law(lambda self, queue_packets: queue_packets <= limit)
        return digest_of(plans_of(["x"], {"x": custom if limit else changed}, None))

    assert digest(0) != digest(1)
    assert digest(1) == digest(1)
    assert digest_of({}) == ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"admit": lambda self, quee: True}, "there is no argument `quee`"),
        ({}, "has no method `admit`"),
    ],
)
def test_a_class_that_cannot_work_is_refused_before_the_run(
    scenario: fb.Scenario, body: Mapping[str, object], expected: str
) -> None:
    with pytest.raises(fb.InputError, match=expected):
        run(scenario, {"python": type("Law", (fb.AdmissionLaw,), dict(body))})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nowhere:Law", "cannot import nowhere"),
        ("json:loads", "has no class loads"),
        ("json:JSONDecoder", "is neither a discipline nor a congestion controller"),
    ],
)
def test_a_name_without_a_class_is_refused(scenario: fb.Scenario, name: str, expected: str) -> None:
    with pytest.raises(fb.InputError, match=expected):
        fb.run(fb.Scenario.from_toml(SCENARIO, overrides={QUEUE: {"python": name}}, allow_python=True))


def test_parameters_that_the_constructor_does_not_have_are_an_error(scenario: fb.Scenario) -> None:
    with pytest.raises(fb.DisciplineError, match=r"TypeError.*lmit"):
        run(scenario, {"python": {"class": DropTail, "parameters": {"lmit": 3}}})


def test_within_class_based_queueing_each_class_has_dice_of_its_own(scenario: fb.Scenario) -> None:
    drawn: list[float] = []

    class Drawing(fb.AdmissionLaw):
        def __init__(self) -> None:
            drawn.append(self.random())

        def admit(self, queue_packets: int) -> bool:
            return queue_packets < 20

    classes = [
        {"name": "a", "classes": [1], "queue": {"python": Drawing}},
        {"name": "b", "queue": {"python": Drawing}},
    ]
    run(scenario, {"cbq": {"classes": classes}})
    assert len(set(drawn)) == 2


def test_a_shaper_is_asked_again_when_it_says(scenario: fb.Scenario) -> None:
    class HalfRate(fb.QueueDiscipline):
        """A packet each 2 ms and no more."""

        def __init__(self) -> None:
            self.waiting: deque[int] = deque()
            self.next = 0

        def enqueue(self, packet: int, queue_packets: int) -> None:
            if queue_packets < 20:
                self.waiting.append(packet)
            else:
                self.drop(packet)

        def dequeue(self, now: int) -> int | None:
            if now < self.next:
                return None
            self.next = now + 2_000_000_000
            return self.waiting.popleft()

        def poll_at(self) -> int:
            return self.next

    row = queue_row(run(scenario, {"python": HalfRate}))
    sent = row["packets_arrived"] - row["packets_dropped"]  # type: ignore[operator]
    assert 900 < sent <= 1021


def test_a_law_works_by_itself() -> None:
    assert not DropTail(limit=3).admit(queue_packets=3)
    assert 0.0 <= Blue().share < 1.0
    assert Blue().random() == Blue().random()


def test_an_experiment_names_a_class(tmp_path: Path, forebay: Command) -> None:
    (tmp_path / "laws.py").write_text(LAW)
    experiment = {
        "id": "sample/limit",
        "title": "A limit in Python",
        "paper": "None",
        "where": "Table 1",
        "seeds": 1,
        "scenario": tomllib.loads(FILE),
        "variants": [{"name": name, "set": {f"{QUEUE}.python.parameters.packets": limit}} for name, limit in LIMITS],
        "metrics": {"udp": {"kind": "column", "name": "udp", "column": "goodput_bps", "unit": "Mb/s"}},
        "tables": [{"title": "Goodput", "columns": [{"label": "udp", "metric": "udp"}]}],
    }
    (tmp_path / "limit.toml").write_text(tomli_w.dumps(experiment))
    refused = forebay("reproduce", "limit.toml")
    assert (refused.returncode, "--allow-python" in refused.stderr) == (2, True)
    done = forebay("reproduce", "limit.toml", "--allow-python", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "Goodput" in done.stdout
    assert len(list((tmp_path / "out/sample/limit/runs").glob("*.parquet"))) == 2
