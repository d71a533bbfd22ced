"""The search for the smallest buffer that reaches a target."""

from __future__ import annotations

import io
import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib as mpl
import polars as pl
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from conftest import Command
from forebay.buffer_sizing.answer import Evidence, answer_of
from forebay.buffer_sizing.measure import Point, Run
from forebay.buffer_sizing.place import Place, find_place
from forebay.buffer_sizing.rules import rules_of
from forebay.buffer_sizing.search import Sizes, find_boundary
from forebay.buffer_sizing.table import answer_text, terminal_tables
from forebay.buffer_sizing.targets import METRICS, Target, Verdict, interval_of, targets_of
from forebay.display.texts import mean_seconds, seconds

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """
duration = "6 s"
warmup = "1 s"

[topology.dumbbell]
access = { rate = "100 Mbps", delay = { uniform = ["5 ms", "15 ms"] } }
bottleneck = { rate = "10 Mbps", delay = "10 ms", queue.drop_tail = { limit = "50 packets" } }

[[flows]]
name = "tcp"
count = 8
start = { uniform = ["0 s", "500 ms"] }
transport.tcp = { segment = "1000 B", max_window_segments = 64, min_rto = "200 ms" }
"""

QUEUE = "topology.dumbbell.bottleneck.queue"


@pytest.fixture(scope="module")
def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO, "office.toml")


@pytest.fixture(scope="module")
def found(scenario: fb.Scenario) -> fb.BufferSize:
    return fb.size_buffer(scenario, 0.8, most=200)


@pytest.fixture
def office(tmp_path: Path) -> Path:
    path = tmp_path / "office.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


# --- the search


@given(
    low=st.integers(0, 3000),
    width=st.integers(0, 200),
    least=st.integers(1, 50),
    most=st.integers(50, 3000),
    precision=st.sampled_from([0.0, 0.02, 0.1]),
)
@settings(deadline=None)
def test_a_boundary_is_found_with_few_questions(low: int, width: int, least: int, most: int, precision: float) -> None:
    """Sizes up to `low` are below, those from `low + width + 1` on above, and between them the side is unknown."""
    sizes = Sizes(least, most, precision)
    asked: list[int] = []

    def side(size: int) -> int:
        asked.append(size)
        return -1 if size <= low else 1 if size > low + width else 0

    boundary = find_boundary(side, sizes)
    high = low + width + 1
    assert (boundary.above is None) == (most < high)
    assert (boundary.below is None) == (least > low)
    if boundary.above is not None:
        assert max(high, least) <= boundary.above < max(high, least) + sizes.gap(boundary.above)
    if boundary.below is not None:
        assert low - sizes.gap(max(asked)) < boundary.below <= low or boundary.below == most
    assert all(least <= size <= most for size in asked)
    assert len(set(asked)) <= 3 * (math.log2(most) + 2)


def test_a_search_stops_where_a_larger_size_changes_nothing() -> None:
    asked: list[int] = []

    def side(size: int) -> int:
        asked.append(size)
        return -1

    boundary = find_boundary(side, Sizes(1, 10**6), exhausted=lambda size: size >= 16)
    assert (boundary.below, boundary.above, max(asked)) == (16, None, 16)


def test_progress_never_expects_less_than_one_question() -> None:
    expected: list[int] = []
    find_boundary(lambda size: 1 if size >= 77 else -1, Sizes(1, 4096), expect=expected.append)
    assert min(expected) >= 1
    assert expected[0] >= len(expected)


# --- targets and intervals


def run_with(seed: int = 1, **values: float) -> Run:
    every = {**dict.fromkeys((*METRICS, "length_mean_packets"), math.nan), **values}
    return Run(seed, every, packets_arrived=1000, flows_by_group={"tcp": 1}, rate_bps=1e7)


def test_a_target_is_judged_by_the_whole_interval() -> None:
    (target,) = targets_of(0.8, None, {})
    for values, verdict in {
        (0.85, 0.86, 0.87): Verdict.REACHED,
        (0.70, 0.71, 0.72): Verdict.FAILED,
        (0.70, 0.80, 0.90): Verdict.UNDECIDED,
        (0.9,): Verdict.UNDECIDED,  # one seed has no interval
        (math.nan, math.nan): Verdict.UNDECIDED,
    }.items():
        interval = interval_of("utilization", [run_with(utilization=value) for value in values])
        assert target.judge(interval) is verdict
    (delay,) = targets_of(None, None, {"delay_p99_s": "5 ms"})
    assert delay.value == pytest.approx(0.005)
    assert (
        delay.judge(interval_of("delay_p99_s", [run_with(delay_p99_s=it) for it in (1e-3, 2e-3)])) is Verdict.UNDECIDED
    )
    assert delay.judge(interval_of("delay_p99_s", [run_with(delay_p99_s=it) for it in (1e-3, 1e-3)])) is Verdict.REACHED


def test_no_drop_among_few_packets_shows_no_small_rate() -> None:
    """The rule of three: 3 / 4000 is below 0.1 %, and not below 0.01 %."""
    interval = interval_of("drop_rate", [run_with(drop_rate=0.0) for _ in range(4)])
    assert interval.high == pytest.approx(3 / 4000)
    assert targets_of(None, 0.001, {})[0].judge(interval) is Verdict.REACHED
    assert targets_of(None, 0.0001, {})[0].judge(interval) is Verdict.UNDECIDED


def test_times() -> None:
    assert [seconds(text, "delay") for text in ("5 ms", "5ms", "0.5 s", "250us", 2.0)] == pytest.approx(
        [0.005, 0.005, 0.5, 250e-6, 2.0]
    )
    assert mean_seconds({"uniform": ["75 ms", "125 ms"]}) == pytest.approx(0.1)
    assert mean_seconds({"exponential": "10 ms"}) == pytest.approx(0.01)
    for wrong in ("5", "ms", "5 lightyears", "0 s", -1.0):
        with pytest.raises(fb.InputError, match="delay: expected a time"):
            seconds(wrong, "delay")


# --- the answer


def evidence(targets: tuple[Target, ...], measured: dict[int, dict[str, list[float]]], **found: int) -> Evidence:
    points = []
    for size, metrics in measured.items():
        columns = zip(*metrics.values(), strict=True)
        runs = tuple(run_with(**dict(zip(metrics, column, strict=True))) for column in columns)
        intervals = {metric: interval_of(metric, runs) for metric in METRICS}
        verdicts = {target: target.judge(intervals[target.metric.name]) for target in targets}
        points.append(Point(size, runs, verdicts, intervals))
    place = Place("bottleneck", "k", ("bottleneck",), ("bottleneck",), "1 packets")
    return Evidence(points, targets, Sizes(min(measured), max(measured)), place, None, **found)


def test_an_answer_that_is_not_sure_is_a_range() -> None:
    targets = targets_of(0.8, None, {})
    low, between, high = [0.5, 0.51], [0.7, 0.9], [0.95, 0.951]
    measured = {8: low, 9: between, 10: between, 11: high, 22: high}
    answer = answer_of(evidence(targets, {size: {"utilization": it} for size, it in measured.items()}, enough=11))
    assert (answer.smallest, answer.buffer, answer.range, answer.confident) == (11, 11, (9, 11), False)
    assert any("From 9 to 10 packets" in note for note in answer.notes)
    sure = {10: low, 11: high}
    answer = answer_of(evidence(targets, {size: {"utilization": it} for size, it in sure.items()}, enough=11))
    assert (answer.buffer, answer.range, answer.confident, answer.notes) == (11, (11, 11), True, [])


def test_a_curve_that_turns_back_is_said_to() -> None:
    targets = targets_of(0.8, None, {})
    measured = {4: [0.5, 0.51], 8: [0.9, 0.901], 16: [0.6, 0.601], 32: [0.95, 0.951]}
    answer = answer_of(evidence(targets, {size: {"utilization": it} for size, it in measured.items()}, enough=8))
    assert not answer.monotone
    assert answer.smallest == 32  # above which no size was seen to fail
    within_noise = {4: [0.5, 0.51], 8: [0.9, 0.901], 16: [0.85, 0.91]}
    answer = answer_of(evidence(targets, {size: {"utilization": it} for size, it in within_noise.items()}, enough=8))
    assert answer.monotone


def test_targets_that_exclude_each_other() -> None:
    targets = targets_of(0.8, None, {"delay_p99_s": "10 ms"})
    measured = {
        8: {"utilization": [0.7, 0.701], "delay_p99_s": [0.009, 0.00901]},
        16: {"utilization": [0.9, 0.901], "delay_p99_s": [0.019, 0.01901]},
    }
    answer = answer_of(evidence(targets, measured, enough=16, short=8))
    assert (answer.smallest, answer.largest, answer.buffer) == (16, 8, None)
    assert "exclude each other" in answer.notes[0]
    relaxed = targets_of(0.8, None, {"delay_p99_s": "20 ms"})
    answer = answer_of(evidence(relaxed, measured, enough=16, short=16))
    assert (answer.buffer, answer.largest, answer.confident) == (16, 16, False)  # 9 to 15 were not measured


# --- where


def test_places(scenario: fb.Scenario) -> None:
    place = find_place(scenario, None, None)
    assert (place.key, place.links, place.unit) == (f"{QUEUE}.drop_tail.limit", ("bottleneck",), "packets")
    assert find_place(scenario, None, f"{QUEUE}.drop_tail.limit") == place
    bare = scenario.override({QUEUE: "drop_tail"})
    assert find_place(bare, "bottleneck", None).key == place.key
    in_bytes = find_place(scenario.override({QUEUE: {"drop_tail": {"limit": "64 KB"}}}), None, None)
    assert (in_bytes.unit, in_bytes.limit_text(3000)) == ("bytes", "3000 B")
    for queue, key, named in (
        ("botleneck", None, "--queue bottleneck"),
        (None, "topology.star.bottleneck.queue.drop_tail.limit", f"--key {QUEUE}.drop_tail.limit"),
        ("bottleneck", place.key, "give one of them"),
    ):
        with pytest.raises(fb.InputError, match=named):
            find_place(scenario, queue, key)


def test_a_queue_within_another(scenario: fb.Scenario) -> None:
    classes = [{"name": "all", "classes": [0], "queue": {"drop_tail": {"limit": "40 packets"}}}]
    nested = scenario.override({QUEUE: {"cbq": {"classes": classes}}})
    with pytest.raises(fb.InputError, match=r"cbq, the queue of .+, has no limit of its own"):
        find_place(nested, None, None)
    key = f"{QUEUE}.cbq.classes.all.queue.drop_tail.limit"
    place = find_place(nested, None, key)
    assert (place.key, place.queues, place.limit) == (key, ("bottleneck",), "40 packets")
    size = fb.size_buffer(nested, 0.8, key=key, most=64, precision=0.2)
    assert size.buffer is not None
    assert 5 < size.buffer < 20


GRAPH = """
duration = "1 s"
[topology.graph]
nodes = [
    { name = "a" },
    { name = "b" },
    { name = "c" },
    { name = "r", kind = "router" },
    { name = "s", kind = "router" },
]
links = [
    { from = "a", to = "r", rate = "100 Mbps", delay = "1 ms" },
    { from = "b", to = "r", rate = "100 Mbps", delay = "3 ms" },
    { from = "r", to = "s", rate = "10 Mbps", delay = "5 ms", queue.drop_tail = { limit = "20 packets" } },
    { from = "s", to = "c", rate = "20 Mbps", delay = { uniform = ["1 ms", "3 ms"] }, queue.red = {} },
    { from = "r", to = "c", rate = "1 Mbps", delay = "1 ms", metric = 9 },
]
[[flows]]
name = "tcp"
count = 4
from = ["a", "b"]
to = "c"
transport = "tcp"
"""


def test_a_graph_has_to_be_told_which_queue() -> None:
    graph = fb.Scenario.from_toml(GRAPH)
    with pytest.raises(fb.InputError, match="--queue 'r->s' or --queue 's->c'"):
        find_place(graph, None, None)
    place = find_place(graph, "r->s", None)
    assert place.links == ("r->s",)
    rules = rules_of(graph, place, {"tcp": 4.0}, 1e7)
    assert rules is not None
    # From a 1 + 5 + 2 ms one way, from b 3 + 5 + 2 ms; two flows of each.
    assert rules.rtt_s == pytest.approx(0.018)
    assert (rules.packet_bytes, rules.window_packets) == (1500.0, 4096.0)


def switch(fabric: object, **output: object) -> fb.Scenario:
    """A scenario with a switch."""
    document = {
        "duration": "1 s",
        "flows": [{"name": "tcp", "count": 16, "transport": {"tcp": {"segment": "1000 B", "max_window_segments": 64}}}],
        "topology": {
            "switch": {
                "ports": 4,
                "access": {"rate": "25 Mbps", "delay": {"uniform": ["20 ms", "40 ms"]}},
                "input": {"rate": "2.5 Gbps", "delay": "10 ms"},
                "output": {"rate": "2.5 Gbps", "delay": "10 ms", **output},
                "fabric": fabric,
            }
        },
    }
    return fb.Scenario.from_toml(tomli_w.dumps(document))


def test_places_of_a_switch() -> None:
    outputs = tuple(f"out-{port}" for port in range(1, 5))
    output = find_place(switch("output_queued"), None, None)
    assert (output.key, output.queues, output.links) == (
        "topology.switch.output.queue.drop_tail.limit",
        outputs,
        outputs,
    )
    voq = find_place(switch({"cioq": {"voq_limit": "3 packets"}}), None, None)
    assert (voq.name, voq.key) == ("voq", "topology.switch.fabric.cioq.voq_limit")
    assert voq.queues == tuple(f"switch/input-{port}" for port in range(1, 5))
    assert (voq.links, voq.of_link) == (outputs, 4)
    both = switch({"cioq": {"voq_limit": "3 packets"}}, queue={"drop_tail": {"limit": "15 packets"}})
    with pytest.raises(fb.InputError, match="--queue output or --queue voq"):
        find_place(both, None, None)
    assert find_place(both, "out-3", None).name == "output"
    assert find_place(both, "switch/input-2", None).name == "voq"
    rules, part = (rules_of(both, find_place(both, name, None), {"tcp": 16.0}, 2.5e9) for name in ("output", "voq"))
    assert rules is not None
    assert part is not None
    assert (rules.flows, round(rules.rtt_s, 9)) == (4.0, 0.1)
    assert rules.bandwidth_delay == pytest.approx(31250)
    assert rules.bandwidth_delay_over_sqrt_flows == pytest.approx(15625)
    assert rules.log_window == pytest.approx(math.log(64))
    assert part.bandwidth_delay == pytest.approx(31250 / 4)


# --- the whole


def test_the_smallest_buffer(scenario: fb.Scenario, found: fb.BufferSize) -> None:
    assert found.smallest == found.buffer
    assert found.range is not None
    assert found.buffer is not None
    assert 4 < found.range[0] <= found.buffer < 20
    assert found.monotone
    by_size = {point.buffer: point for point in found.points}
    assert by_size[found.buffer].verdict is Verdict.REACHED
    assert by_size[1].verdict is Verdict.FAILED
    assert {2 * found.buffer, 4 * found.buffer} <= set(by_size)
    runs = [fb.run(scenario, seed=seed, overrides={f"{QUEUE}.drop_tail.limit": "1 packets"}) for seed in (1, 2, 3, 4)]
    used = [run.links.row(by_predicate=pl.col("name") == "bottleneck", named=True)["utilization"] for run in runs]
    queues = [run.queues.row(by_predicate=pl.col("name") == "bottleneck", named=True) for run in runs]
    row = found.table.row(0, named=True)
    assert (row["buffer"], row["seeds"], row["verdict"]) == (1, 4, "failed")
    assert row["utilization"] == pytest.approx(sum(used) / 4)
    assert row["drop_rate"] == pytest.approx(sum(it["packets_dropped"] / it["packets_arrived"] for it in queues) / 4)
    assert row["delay_p99_s"] > 0.02


def test_rules_of_thumb(found: fb.BufferSize) -> None:
    rules = found.rules
    assert rules is not None
    # 10 ms and twice 10 ms on average, there and back; 10 Mb/s; packets of 1000 B.
    assert (round(rules.rtt_s, 9), rules.rate_bps, rules.flows, rules.window_packets) == (0.06, 1e7, 8.0, 64.0)
    assert rules.bandwidth_delay == pytest.approx(75.0)
    assert rules.bandwidth_delay_over_sqrt_flows == pytest.approx(75 / math.sqrt(8))
    assert rules.log_window == pytest.approx(math.log(64))
    assert rules.window_load == pytest.approx(8 * 64 / 75)


def test_a_delay_asks_for_the_largest_buffer(scenario: fb.Scenario) -> None:
    size = fb.size_buffer(scenario, target_delay_p99="60 ms", most=100, precision=0.1)
    assert size.smallest is None
    assert size.buffer == size.largest
    assert size.buffer is not None
    assert 20 < size.buffer < 60
    assert "largest" in answer_text(size)
    roomy = fb.size_buffer(scenario, target_delay_p99=1.0, most=100)
    assert roomy.buffer == 100
    assert "Every size up to 100 packets keeps" in roomy.notes[0]
    tight = fb.size_buffer(scenario, target_delay_p99="1 ms", most=100)
    assert tight.buffer is None
    assert "No size keeps" in tight.notes[0]


def test_a_buffer_in_bytes_counts_bytes(scenario: fb.Scenario) -> None:
    size = fb.size_buffer(scenario, 0.8, overrides={f"{QUEUE}.drop_tail.limit": "50 KB"}, most=100_000, precision=0.1)
    assert (size.unit, size.points[0].buffer) == ("bytes", 1000)
    assert size.buffer is not None
    assert 4000 < size.buffer < 20_000
    assert size.rules is not None
    assert size.rules.bandwidth_delay == pytest.approx(75_000)


def test_windows_that_cannot_fill_the_link_are_named(scenario: fb.Scenario) -> None:
    size = fb.size_buffer(scenario, 0.9, overrides={"flows.tcp.transport.tcp.max_window_segments": 4})
    assert size.buffer is None
    assert any("nothing is dropped" in note and "42.7 %" in note for note in size.notes)
    # Neither 32 packets, which eight windows of four fill at most, nor 64 dropped one: there the search ended.
    assert size.points[-1].buffer <= 64


def test_numbers_do_not_depend_on_threads(scenario: fb.Scenario, found: fb.BufferSize) -> None:
    assert fb.size_buffer(scenario, 0.8, most=200, jobs=3).to_dict() == found.to_dict()


def test_files_hold_the_result(found: fb.BufferSize, tmp_path: Path) -> None:
    mpl.use("Agg")
    found.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"size-buffer.{it}" for it in ("csv", "json", "png", "svg")}
    document = json.loads((tmp_path / "size-buffer.json").read_text(encoding="utf-8"))
    assert document == found.to_dict()
    assert document["target"] == {"utilization": 0.8}
    assert {"buffer", "unit", "confident", "points", "rules", "range"} <= set(document)
    assert {"buffer", "seeds", "verdict", "utilization", "utilization_ci95"} <= set(document["points"][0])
    figure = (tmp_path / "size-buffer.svg").read_text(encoding="utf-8")
    for text in ("RTT·C/√N", "ln W", "target ≥ 80 %", "Link utilisation"):
        assert text in figure


def test_terminal_tables(found: fb.BufferSize) -> None:
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(*terminal_tables(found), sep="\n")
    text = console.export_text()
    for expected in ("link used", "RTT·C/√N", f"{found.buffer} packets: the smallest buffer", "N = 8 TCP flows", "±"):
        assert expected in text


# --- the command


def test_the_command(forebay: Command, office: Path, tmp_path: Path) -> None:
    done = forebay("size-buffer", office, "--target-utilization", "0.8", "--max", "200", "--precision", "0.1", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["unit"] == "packets"
    assert document["buffer"] in range(5, 21)
    folder = tmp_path / "out/size-buffer/office"
    assert (folder / "size-buffer.png").exists()
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("runs/*.parquet")}
    again = forebay(
        "size-buffer", office, "--target-utilization", "0.8", "--max", "200", "--precision", "0.1", "--json"
    )
    assert again.stdout == done.stdout
    assert {path: path.stat().st_mtime_ns for path in folder.glob("runs/*.parquet")} == kept
    unreached = forebay("size-buffer", office, "--target-utilization", "0.99", "--max", "4")
    assert unreached.returncode == 1
    assert "No buffer reaches the target" in unreached.stdout
    assert "the best was" in unreached.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["missing.toml", "--target-utilization", "0.8"], "missing.toml"),
        (["office.toml"], "there is no target"),
        (["office.toml", "--target-utilization", "80"], "80 % is 0.8"),
        (["office.toml", "--target-utilization", "0"], "must be above 0"),
        (["office.toml", "--target-drop-rate", "1"], "below 1"),
        (["office.toml", "--target-delay-p99", "5"], "with its unit"),
        (["office.toml", "--target-utilization", "0.8", "--queue", "backbone"], "bottleneck"),
        (["office.toml", "--target-utilization", "0.8", "--key", "flows.tcp.count"], "--key flows.tcp.count"),
        (["office.toml", "--target-utilization", "0.8", "--seeds", "1"], "--seeds"),
        (["office.toml", "--target-utilization", "0.8", "--max-seeds", "2"], "max seeds"),
        (["office.toml", "--target-utilization", "0.8", "--min", "9", "--max", "3"], "--max 3 is below 9"),
        (["office.toml", "--target-utilization", "0.8", "--min", "0"], "--min"),
        (["office.toml", "--target-utilization", "0.8", "--precision", "1"], "precision"),
        (["office.toml", "--target-utilization", "0.8", "--set", f"{QUEUE}=red"], "does not fit the scenario"),
        (["office.toml", "--target-utilization", "0.8", "--out", "office.toml/below"], "office.toml/below"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    forebay: Command, office: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    done = forebay("size-buffer", *arguments, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_ethernet_has_no_queue_to_size() -> None:
    example = Path(__file__).resolve().parents[2] / "examples/ethernet.toml"
    with pytest.raises(fb.InputError, match=r"share their memory\nhint: vary topology\.ethernet\.switch\.memory"):
        fb.size_buffer(example, 0.8)


def test_a_stopped_call_goes_on_from_its_finished_runs(office: Path, tmp_path: Path) -> None:
    words = ["size-buffer", "office.toml", "--target-utilization", "0.8", "--max", "4", "--jobs", "1", "--out", "o"]
    command = [sys.executable, "-m", "forebay", *words, "--set", "duration=100 s"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while not list(tmp_path.glob("o/runs/*.parquet")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("o/runs/*.parquet")}
    assert kept
    if process.returncode != 1:  # It may have been quicker than the signal.
        assert process.returncode == 130
        assert "the same command continues" in stderr
        assert not (tmp_path / "o/size-buffer.json").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert done.returncode == 1
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(tmp_path.glob("o/runs/*.parquet"))) == 12


def test_the_example_of_the_guide() -> None:
    """Access links as fast as the backbone let bursts through, and bursts need a larger buffer."""
    sizes = []
    for rate in ("5 Mbps", "100 Mbps"):
        size = fb.size_buffer(
            ROOT / "examples/backbone.toml",
            0.8,
            overrides={"topology.dumbbell.access.rate": rate},
            most=64,
            precision=0.1,
        )
        assert size.buffer is not None
        sizes.append(size.buffer)
        assert size.rules is not None
        assert size.buffer < size.rules.bandwidth_delay_over_sqrt_flows
    assert sizes[1] > 2 * sizes[0]
