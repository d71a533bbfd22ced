"""Congestion controllers written in Python run in the engine like the built-in ones, and their faults are reported."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tomli_w

import forebay as fb
from conftest import Command
from forebay.disciplines.custom import MEASURED, OF_AN_ACK, plans_of
from test_docs import ROOT, blocks_of

CONTROL = "flows.tcp.transport.tcp.congestion_control"

SCENARIO = """
duration = "4 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "10 ms", queue = { drop_tail = { limit = "25 packets" } } }

[[flows]]
name = "tcp"
count = 2
transport.tcp = { congestion_control = "reno" }

[probes]
interval = "100 ms"
series = ["flows", "queues"]
"""

(AIMD,) = [block.body for block in blocks_of(ROOT / "docs/guide/python-controllers.md") if block.tag == "aimd.py"]
FILE = SCENARIO.replace('"reno"', '{ python = { class = "aimd:Aimd", parameters = { increase = 0.5 } } }')


def _defined(source: str) -> type[fb.CongestionController]:
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, "aimd.py", "exec"), names)
    found: type[fb.CongestionController] = names["Aimd"]
    return found


Aimd = _defined(AIMD)


@pytest.fixture(scope="module")
def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO)


def run(scenario: fb.Scenario, control: object, **overrides: object) -> fb.Result:
    return fb.run(scenario.override({CONTROL: control, **overrides}))


def controller(**members: object) -> type[fb.CongestionController]:
    given = {"on_ack": lambda self: None, "on_loss": lambda self: None, "__module__": __name__, **members}
    return type("Custom", (fb.CongestionController,), {key: it for key, it in given.items() if it is not None})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ecn": True},
        {"preset": "rfc"},
        {"preset": "basic", "sack": True, "delayed_ack": True},
        {"recovery": "quic"},
        {"pacing": True},
    ],
)
def test_the_aimd_of_the_guide_is_reno(settings: Mapping[str, object]) -> None:
    tcp = "flows.tcp.transport.tcp"
    queue = {"topology.star.bottleneck.queue": {"red": {"ecn": True, "max_probability": 0.1}}} if settings else {}
    scenario = fb.Scenario.from_toml(SCENARIO, overrides={f"{tcp}.{key}": it for key, it in settings.items()} | queue)
    built_in, in_python = run(scenario, "reno"), run(scenario, {"python": Aimd})
    assert any(built_in.flows.select("packets_retransmitted", "packets_marked").sum().row(0))
    assert in_python.digest == built_in.digest


def test_it_is_newreno_without_sack_and_after_timeouts() -> None:
    few = {"topology.star.bottleneck.queue": {"drop_tail": {"limit": "3 packets"}}, "flows.tcp.count": 8}
    scenario = fb.Scenario.from_toml(SCENARIO, overrides={"flows.tcp.transport.tcp.preset": "basic", **few})
    built_in, in_python = run(scenario, "newreno"), run(scenario, {"python": Aimd})
    assert built_in.flows["timeouts"].sum() > 0
    assert in_python.digest == built_in.digest


def test_transfers_and_conversations_have_a_controller_for_each_sender(scenario: fb.Scenario) -> None:
    flows: list[str] = []

    class Noted(Aimd):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            flows.append(self.flow)

    apps = [
        {"transfers": {"size": "20 KB", "gap": "100 ms", "connections": 5}},
        {"request_response": {"request": "1 KB", "response": "50 KB", "think": "50 ms"}},
    ]
    for app in apps:
        flows.clear()
        other = {"flows.tcp.app": app, "flows.tcp.count": 1}
        built_in = run(scenario, "reno", **other)
        assert run(scenario, {"python": Noted}, **other).digest == built_in.digest
        assert len(set(flows)) == len(flows) > 1


def test_random_numbers_are_those_of_the_seed_and_the_flow(scenario: fb.Scenario) -> None:
    drawn: dict[str, float] = {}

    class Drawing(Aimd):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            drawn[self.flow] = self.random()

    def first(**overrides: object) -> dict[str, float]:
        drawn.clear()
        run(scenario, {"python": Drawing}, **overrides)
        return dict(drawn)

    one, again, other = first(), first(), first(seed=2)
    assert one == again
    assert sorted(one) == ["tcp-0", "tcp-1"]
    assert len({*one.values(), *other.values()}) == 4


def test_every_argument_is_what_the_table_says(scenario: fb.Scenario) -> None:
    names = (*OF_AN_ACK, *(name for those in MEASURED.values() for name in those))
    seen: list[dict[str, Any]] = []
    body = f"def on_ack(self, {', '.join(names)}):\n    note(self, dict({', '.join(f'{it}={it}' for it in names)}))"
    defined: dict[str, Any] = {}

    def note(self: Any, told: dict[str, Any]) -> None:
        seen.append(told)
        Aimd.on_ack(self, 1.0, True, False)

    exec(body, {"note": note}, defined)
    custom = type("All", (Aimd,), {"on_ack": defined["on_ack"], "needs": tuple(MEASURED), "__module__": __name__})
    result = run(scenario, {"python": custom}, **{"flows.tcp.count": 1, "flows.tcp.transport.tcp.ecn": True})
    assert all(earlier["now"] <= later["now"] for earlier, later in pairwise(seen))
    assert all(0 < told["snd_una"] <= told["snd_nxt"] for told in seen)
    assert sum(told["newly_delivered"] for told in seen) == pytest.approx(seen[-1]["delivered"], abs=1)
    assert sum(told["newly_lost"] for told in seen) == seen[-1]["lost"] > 0
    assert seen[-1]["delivered"] == pytest.approx(result.flows["packets_delivered"][0], rel=0.01)
    round_trips = [told["round_trip_s"] for told in seen if told["round_trip_s"] is not None]
    # The queue holds 25 packets of 1.2 ms.
    assert 0.022 < min(round_trips) < max(round_trips) < 0.06
    assert seen[-1]["shortest_round_trip_s"] <= min(round_trips)
    assert seen[-1]["smoothed_round_trip_s"] > seen[-1]["round_trip_deviation_s"] > 0
    rates = [told["delivery_rate"] for told in seen if told["delivery_rate"] is not None]
    assert 700 < sorted(rates)[len(rates) // 2] < 900  # 10 Mb/s of 1500 bytes
    assert any(told["in_recovery"] for told in seen)
    assert not any(told["application_limited"] for told in seen)
    assert all(told["in_flight_before"] >= told["in_flight"] for told in seen if told["newly_delivered"])


def test_a_paced_controller_sets_the_rate(scenario: fb.Scenario) -> None:
    class HalfRate(fb.CongestionController):
        pacing = True
        needs = ("recovery",)

        def __init__(self, rate_bps: float = 5e6) -> None:
            self.window = 100
            self.pacing_rate_bps = rate_bps

        def on_ack(self) -> None:
            assert self.segment_bytes == 1448

        def on_loss(self) -> None:
            """Nothing is lost at half of the rate."""

    result = run(scenario, {"python": HalfRate}, **{"flows.tcp.count": 1, "warmup": "1 s"})
    assert result.flows["goodput_bps"][0] == pytest.approx(5e6, rel=0.02)
    assert result.flows["packets_retransmitted"][0] == 0


def test_a_controller_without_recovery_cannot_grow_there(scenario: fb.Scenario) -> None:
    windows: list[tuple[bool, float]] = []

    class Greedy(Aimd):  # type: ignore[misc, valid-type]
        needs = ("delivery",)

        def on_ack(self, acked: float, in_recovery: bool) -> None:
            windows.append((in_recovery, self.window))
            self.window += acked / self.window

    run(scenario, {"python": Greedy}, **{"flows.tcp.count": 1})
    recoveries = [after <= before for (first, before), (later, after) in pairwise(windows) if first and later]
    assert recoveries
    assert all(recoveries)


def test_marks_are_answered_in_on_ack_unless_there_is_a_method(scenario: fb.Scenario) -> None:
    called: list[str] = []
    queue = {"topology.star.bottleneck.queue": {"red": {"ecn": True}}, "flows.tcp.transport.tcp.ecn": True}

    class Marks(Aimd):  # type: ignore[misc, valid-type]
        needs = ("marks",)

        def on_ack(self, acked: float, newly_marked: float) -> None:
            self.window += acked / self.window
            if newly_marked:
                called.append("on_ack")

    class Echoes(Marks):
        def on_ecn(self, used: float) -> None:
            called.append("on_ecn")

    class Losses(Aimd):  # type: ignore[misc, valid-type]
        def on_loss(self, used: float) -> None:
            called.append("on_loss")

    for custom, expected in ((Marks, {"on_ack"}), (Echoes, {"on_ack", "on_ecn"}), (Losses, {"on_loss"})):
        called.clear()
        run(scenario, {"python": custom}, **queue)
        assert set(called) == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"on_ack": lambda self, acked: 1 // 0}, "ZeroDivisionError"),
        ({"on_ack": lambda self: setattr(self, "window", 0.5)}, "window must be .* at least 1, and is 0.5"),
        ({"on_ack": lambda self: setattr(self, "window", float("nan"))}, "window must be .* is NaN"),
        ({"on_ack": lambda self: setattr(self, "window", float("inf"))}, "window must be .* is inf"),
        ({"on_ack": lambda self: setattr(self, "window", "ten")}, "TypeError"),
        ({"on_ack": lambda self: setattr(self, "threshold", 1)}, "threshold must be .* at least 2, and is 1"),
        ({"on_ack": lambda self: setattr(self, "pacing_rate_bps", 0)}, "pacing_rate_bps must be None or"),
        ({"on_loss": lambda self: 1 // 0, "on_ack": lambda self: setattr(self, "window", 90)}, "on_loss.*Zero"),
    ],
)
def test_what_a_controller_does_wrong_stops_the_run(
    scenario: fb.Scenario, members: Mapping[str, object], expected: str
) -> None:
    with pytest.raises(fb.ControllerError, match=expected) as caught:
        run(scenario, {"python": controller(**members)})
    assert caught.value.flow in scenario.flows
    assert caught.value.acknowledged is not None
    assert 0 < caught.value.time_s < 4
    assert caught.value.__cause__ is not None


def test_the_message_names_ack_time_and_flow(tmp_path: Path, forebay: Command) -> None:
    faulty = AIMD.replace(
        "if not window_used", "if self.window > 12:\n            raise ValueError('13')\n        if not window_used"
    )
    (tmp_path / "aimd.py").write_text(faulty)
    (tmp_path / "faulty.toml").write_text(FILE)
    done = forebay("run", "faulty.toml", "--allow-python")
    assert (done.returncode, done.stdout) == (2, "")
    said = " ".join(done.stderr.replace(str(tmp_path.resolve()), "FOLDER").split())
    wanted = r"error: aimd:Aimd\.on_ack in flow tcp-\d failed: ValueError: 13 "
    wanted += r"ACK \d+, at 0\.\d+ s file \"FOLDER/aimd\.py\", line 13"
    assert re.fullmatch(wanted, said), said


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"on_ack": lambda self, akced: None}, "there is no argument `akced`"),
        ({"on_ack": None}, "has no method `on_ack`"),
        ({"on_loss": None}, "has no method `on_loss`"),
        ({"on_ack": 3}, "on_ack is not a method"),
        ({"on_ack": lambda self, delivery_rate: None}, 'add "delivery" to its `needs`'),
        ({"on_loss": lambda self, acked: None}, "there is no argument `acked`"),
        ({"needs": ("speed",)}, "there is no 'speed'"),
        ({"needs": "marks"}, "is no tuple"),
    ],
)
def test_a_class_that_cannot_work_is_refused_before_the_run(
    scenario: fb.Scenario, members: Mapping[str, object], expected: str
) -> None:
    with pytest.raises(fb.InputError, match=expected) as caught:
        run(scenario, {"python": controller(**members)})
    assert "hint: " in str(caught.value)


class Limit(fb.AdmissionLaw):
    def admit(self, queue_packets: int) -> bool:
        return queue_packets < 10


@pytest.mark.parametrize(
    ("overrides", "error", "expected"),
    [
        ({CONTROL: {"python": Limit}}, fb.ScenarioError, "the flows `tcp`.*derived from CongestionController"),
        (
            {"topology.star.bottleneck.queue": {"python": Aimd}},
            fb.ScenarioError,
            "the queue `bottleneck`.*derived from AdmissionLaw or QueueDiscipline",
        ),
        (
            {CONTROL: {"python": {"class": Aimd, "parameters": {"incraese": 1}}}},
            fb.ControllerError,
            "TypeError.*incraese",
        ),
        (
            {"flows.tcp.transport.tcp": {"rack": False, "congestion_control": {"python": controller(pacing=True)}}},
            fb.ScenarioError,
            "the flows `tcp`: .*congestion_control.*rack is true",
        ),
        (
            {"flows.tcp.transport.tcp": {"slow_start": "hystart", "congestion_control": {"python": Aimd}}},
            fb.ScenarioError,
            "slow_start.*absent",
        ),
        ({CONTROL: "python"}, fb.ScenarioError, "python"),
    ],
)
def test_a_class_in_the_wrong_place_is_refused(
    scenario: fb.Scenario, overrides: Mapping[str, object], error: type[Exception], expected: str
) -> None:
    with pytest.raises(error, match=expected):
        fb.run(scenario.override(overrides))


def test_a_file_runs_its_code_only_with_leave(tmp_path: Path, forebay: Command) -> None:
    (tmp_path / "aimd.py").write_text(AIMD + "\nopen('was-imported', 'w').close()\n")
    path = tmp_path / "gentle.toml"
    path.write_text(FILE)
    commands: list[list[str]] = [
        ["run", "gentle.toml"],
        ["compare", "gentle.toml", "--queue", "red", "--seeds", "1"],
        ["sweep", "gentle.toml", "--vary", "flows.tcp.count=1,2", "--seeds", "1"],
        ["size-buffer", "gentle.toml", "--target-utilization", "0.8", "--seeds", "2"],
    ]
    for words in commands:
        refused = forebay(*words)
        assert (refused.returncode, refused.stdout) == (2, ""), words
        assert "aimd:Aimd" in refused.stderr
        assert "--allow-python" in refused.stderr
    with pytest.raises(fb.InputError, match="allow_python=True"):
        fb.run(path)
    assert not (tmp_path / "was-imported").exists()
    for words in commands[:3]:
        done = forebay(*words, "--allow-python", "--json")
        assert done.returncode == 0, done.stderr
    assert list(fb.Scenario.load(path).python_classes) == ["aimd:Aimd"]


def test_parameters_are_keys_of_the_scenario(tmp_path: Path, forebay: Command) -> None:
    (tmp_path / "aimd.py").write_text(AIMD)
    (tmp_path / "gentle.toml").write_text(FILE)
    key = f"{CONTROL}.python.parameters.decrease"
    done = forebay("sweep", "gentle.toml", "--vary", f"{key}=0.5,0.9", "--seeds", "1", "--allow-python", "--json")
    assert done.returncode == 0, done.stderr
    assert len({json.dumps(point) for point in json.loads(done.stdout)["points"]}) == 2


def test_an_experiment_names_a_class(tmp_path: Path, forebay: Command) -> None:
    (tmp_path / "aimd.py").write_text(AIMD)
    experiment = {
        "id": "sample/aimd",
        "title": "AIMD in Python",
        "paper": "None",
        "where": "Table 1",
        "seeds": 1,
        "scenario": tomllib.loads(FILE),
        "variants": [{"name": "reno", "set": {CONTROL: "reno"}}, {"name": "python"}],
        "metrics": {"tcp": {"kind": "column", "name": "tcp-0", "column": "goodput_bps", "unit": "Mb/s"}},
        "tables": [{"title": "Goodput", "columns": [{"label": "tcp", "metric": "tcp"}]}],
    }
    (tmp_path / "aimd.toml").write_text(tomli_w.dumps(experiment))
    refused = forebay("reproduce", "aimd.toml")
    assert (refused.returncode, "--allow-python" in refused.stderr) == (2, True)
    done = forebay("reproduce", "aimd.toml", "--allow-python", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "Goodput" in done.stdout


def test_a_controller_works_by_itself() -> None:
    alone: Any = Aimd()
    alone.increase = 2.0
    alone.on_ack(acked=1.0, window_used=True, echoes_mark=False)
    assert alone.window == 11.0
    alone.on_loss(used=11.0)
    assert (alone.window, alone.threshold, alone.pacing_rate_bps) == (5.5, 5.0, None)
    assert 0.0 <= alone.random() < 1.0


def test_another_process_finds_the_class_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "own_aimd.py").write_text(AIMD)
    plans = plans_of(["own_aimd:Aimd"], {}, tmp_path)
    assert plans.take_turns
    assert plans.can_move


def _undone(note: Callable[[str], None]) -> type[fb.CongestionController]:
    return controller(undo=lambda self: note("undo"), restart=lambda self: note("restart"))


def test_undo_and_restart_are_optional_methods(scenario: fb.Scenario) -> None:
    called: list[str] = []
    # Reordering makes losses that are none.
    path = {
        "topology.star.bottleneck.impairments": {"jitter": {"uniform": ["0 s", "20 ms"]}, "reordering": True},
        "topology.star.bottleneck.queue": {"drop_tail": {"limit": "1000 packets"}},
    }
    run(scenario, {"python": _undone(called.append)}, **path)
    assert "undo" in called
