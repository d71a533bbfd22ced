"""One scenario under many queues, and several finished runs."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import forebay as fb
from conftest import Command
from forebay import _core
from forebay.comparison.contenders import contenders_of, disciplines, find_place, fitted_queue, with_queue
from forebay.comparison.table import columns_of, terminal_tables
from forebay.runs.measures import GROUP_METRICS, QUEUE_METRICS, measure

ROOT = Path(__file__).resolve().parents[2]

SCENARIO = """
duration = "3 s"
warmup = "500 ms"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue.drop_tail = { limit = "50 packets" } }

[[flows]]
name = "tcp"
count = 3
transport = "tcp"
start = { uniform = ["0 s", "100 ms"] }

[[flows]]
name = "flood"
transport.udp = { packet = "1000 B", constant = { rate = "12 Mbps", jitter = 0.5 } }

[[traces]]
link = "bottleneck"
file = "bottleneck.pcapng"
"""

NAMES = ["drop_tail", "red", "drr"]


@pytest.fixture(scope="module")
def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO, "office.toml")


@pytest.fixture(scope="module")
def comparison(scenario: fb.Scenario) -> fb.Comparison:
    return fb.compare(scenario, NAMES, seeds=3)


@pytest.fixture
def office(tmp_path: Path) -> Path:
    path = tmp_path / "office.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_frames_have_a_row_for_each_queue_group_and_run(comparison: fb.Comparison) -> None:
    assert comparison.table.get_column("queue").to_list() == NAMES
    assert comparison.table.get_column("seeds").to_list() == [3, 3, 3]
    assert comparison.groups.height == len(NAMES) * 2
    assert comparison.group_names == ["tcp", "flood"]
    assert comparison.runs.select("queue", "seed").rows() == [(name, seed) for name in NAMES for seed in (1, 2, 3)]
    assert {*QUEUE_METRICS, "cpu_ns_per_packet", "loss_ci95"} <= set(comparison.table.columns)
    assert set(GROUP_METRICS) <= set(comparison.groups.columns)
    fair = dict(comparison.table.select("queue", "jain").rows())
    assert fair["drr"] > 0.95
    assert fair["drop_tail"] < 0.7
    assert (comparison.table.get_column("cpu_ns_per_packet") > 0).all()
    assert comparison.table.filter(pl.col("queue") == "drr").item(0, "state_bytes") > 100


def test_a_row_is_the_mean_of_its_runs(scenario: fb.Scenario, comparison: fb.Comparison) -> None:
    runs = [
        fb.run(
            scenario,
            seed=seed,
            overrides={"topology.star.bottleneck.queue": {"red": {"limit": "50 packets", **comparison.fitted["red"]}}},
        )
        for seed in (1, 2, 3)
    ]
    row = comparison.table.row(NAMES.index("red"), named=True)
    queues = [run.queues.row(0, named=True) for run in runs]
    losses = [queue["packets_dropped"] / queue["packets_arrived"] for queue in queues]
    assert row["loss"] == pytest.approx(np.mean(losses))
    assert row["loss_ci95"] == pytest.approx(4.302653 * np.std(losses, ddof=1) / math.sqrt(3))
    tcp = comparison.of_group("tcp").row(NAMES.index("red"), named=True)
    goodputs = [run.flows.filter(pl.col("group") == "tcp").get_column("goodput_bps") for run in runs]
    assert tcp["flows"] == 3
    assert tcp["goodput_bps"] == pytest.approx(np.mean([column.to_numpy().mean() for column in goodputs]))
    assert tcp["goodput_total_bps"] == pytest.approx(3 * tcp["goodput_bps"])
    at_queue = [run.queue_flows.filter(pl.col("flow") == "flood").row(0, named=True) for run in runs]
    flood = comparison.of_group("flood").row(NAMES.index("red"), named=True)
    assert flood["loss"] == pytest.approx(np.mean([it["packets_dropped"] / it["packets_arrived"] for it in at_queue]))


def test_delays_are_weighted_by_what_was_delivered() -> None:
    tables = {
        "flows": {
            "name": np.array(["a-0", "a-1", "b"]),
            "group": np.array(["a", "a", "b"]),
            "goodput_bps": np.array([1.0, 3.0, 0.0]),
            "packets_delivered": np.array([1, 3, 0]),
            "delay_p50_s": np.array([0.1, 0.2, np.nan]),
            "delay_p99_s": np.array([1.0, 2.0, np.nan]),
        },
        "queues": {
            "name": np.array(["bottleneck", "reverse"]),
            "packets_arrived": np.array([10, 99]),
            "packets_dropped": np.array([5, 99]),
            "length_mean_packets": np.array([2.0, 9.0]),
            "state_bytes": np.array([16, 99]),
        },
        "links": {
            "name": np.array(["bottleneck", "reverse"]),
            "bytes": np.array([5000, 9]),
            "packets": np.array([5, 9]),
            "utilization": np.array([0.5, 0.9]),
            "rate_bps": np.array([8000.0, 1.0]),
        },
        "queue_flows": {
            "queue": np.array(["bottleneck", "bottleneck", "bottleneck", "bottleneck", "reverse"]),
            "flow": np.array(["a-0", "a-0", "a-1", "b", "b"]),
            "direction": np.array(["data", "acks", "data", "data", "data"]),
            "packets_arrived": np.array([2, 7, 4, 4, 99]),
            "packets_dropped": np.array([1, 7, 0, 4, 99]),
        },
    }
    found = measure(tables, ["bottleneck"], 5.0)
    assert found.queue["delay_p50_s"] == pytest.approx((0.1 + 3 * 0.2) / 4)
    assert found.queue["loss"] == 0.5
    assert found.queue["jain"] == pytest.approx(16 / (3 * 10))
    assert found.groups["a"]["loss"] == pytest.approx(1 / 6)
    assert found.groups["b"]["loss"] == 1.0
    assert math.isnan(found.groups["b"]["delay_p99_s"])
    assert (found.queue["state_bytes"], found.queue["utilization"], found.load) == (16.0, 0.5, 2.0)


def test_a_queue_keeps_the_limit_it_replaces_and_settings_come_on_top(scenario: fb.Scenario) -> None:
    place = find_place(scenario, None)
    (red,) = contenders_of("RED=red:gentle=false,max_threshold=30 packets")
    settings: dict[str, dict[str, object]] = {
        "all": {"min_threshold": "9 packets", "no_such_key": 1},
        "red": {"max_threshold": "20 packets"},
    }
    text = with_queue(scenario, place, red, settings).to_toml()
    for expected in (
        'limit = "50 packets"',
        'min_threshold = "9 packets"',
        'max_threshold = "30 packets"',
        "gentle = false",
    ):
        assert expected in text
    (plain,) = contenders_of({"plain": {"drop_tail": {"limit": "7 packets"}}})
    assert '"7 packets"' in with_queue(scenario, place, plain, {}).to_toml()


def test_a_comparison_records_no_traces_and_no_series(scenario: fb.Scenario, tmp_path: Path) -> None:
    # The scenario has a trace, which each of the runs would write.
    fb.compare(scenario, "red", seeds=2, out=tmp_path)
    assert list(tmp_path.glob("**/*.pcapng")) == []
    assert all("series" not in pl.read_parquet_schema(path) for path in tmp_path.glob("runs/*.parquet"))


def test_contenders() -> None:
    assert [it.label for it in contenders_of("red,dbl")] == ["red", "dbl"]
    everything = [it.label for it in contenders_of("all")]
    assert "cbq" not in everything
    assert set(everything) < set(disciplines())
    two = contenders_of(["red", "red:gentle=false"])
    assert [(it.label, dict(it.parameters)) for it in two] == [("red", {}), ("red:gentle=false", {"gentle": "false"})]
    for wrong, named in {
        "rde": "did you mean red",
        "red,": "(nothing)",
        "red:gentle": "is not a parameter",
    }.items():
        with pytest.raises(fb.InputError, match=named.replace("(", r"\(").replace(")", r"\)")):
            contenders_of(wrong)
    with pytest.raises(fb.InputError, match="two queues are called a"):
        contenders_of(["a=red", "a=dbl"])


def test_all_leaves_out_what_does_not_fit_and_says_so(scenario: fb.Scenario) -> None:
    short = scenario.override({"duration": "600 ms"})
    settings = {"fred": {"max_threshold": "60 packets"}}
    comparison = fb.compare(short, "all", seeds=1, settings=settings)
    assert any(line.startswith("fred is left out") and "max_threshold" in line for line in comparison.left_out)
    assert "fred" not in comparison.table.get_column("queue").to_list()
    with pytest.raises(fb.ScenarioError, match="max_threshold"):
        fb.compare(short, ["fred"], seeds=1, settings=settings)


def fast(queue: str) -> fb.Scenario:
    """A link on which 5 ms are 100 packets of 1500 B."""
    text = SCENARIO.replace('rate = "10 Mbps"', 'rate = "240 Mbps"')
    return fb.Scenario.from_toml(text.replace('queue.drop_tail = { limit = "50 packets" }', queue), "fast.toml")


@pytest.mark.parametrize(
    ("queue", "limit"),
    [
        ('queue = "drop_tail"', "2000 packets"),
        ('queue = "fq_codel"', "2000 packets"),
        ('queue.drop_tail = { limit = "1000 packets" }', "1000 packets"),
        ('queue.drop_tail = { limit = "600 KB" }', "600 KB"),
        ('queue.cbq.classes = [{ name = "all", queue = "red" }]', "2000 packets"),
    ],
)
def test_bare_disciplines_share_one_buffer_and_have_thresholds_for_the_link(queue: str, limit: str) -> None:
    scenario = fast(queue)
    place = find_place(scenario, None)
    for contender in contenders_of("all"):
        text = with_queue(scenario, place, contender, {}).to_toml()
        default = next(it for it in _core.choices() if it["name"] == contender.discipline)["parameters"]
        implied = any(it["name"] == "limit" and it["default"] == f'"{limit}"' for it in default)
        assert f'limit = "{limit}"' in text or implied, contender.label
    (red,) = contenders_of("red")
    text = with_queue(scenario, place, red, {}).to_toml()
    assert 'min_threshold = "50 packets"' in text
    assert 'max_threshold = "150 packets"' in text


def test_explicit_parameters_win_over_fitted_ones() -> None:
    scenario = fast('queue = "drop_tail"')
    place = find_place(scenario, None)
    (given,) = contenders_of("red:limit=60 packets,min_threshold=7 packets")
    fitted = fitted_queue(scenario, place, given, {"all": {"mean_packet_size": "700 B"}})
    # A third of the limit that is given is 20 packets.
    assert fitted == {"max_threshold": "30 packets"}
    text = with_queue(scenario, place, given, {}).to_toml()
    assert 'min_threshold = "7 packets"' in text
    assert 'limit = "60 packets"' in text


def test_the_scenario_s_own_discipline_keeps_what_it_states() -> None:
    scenario = fast('queue.red = { min_threshold = "9 packets" }')
    place = find_place(scenario, None)
    own, other = contenders_of("red,choke")
    fitted = {"limit": "2000 packets", "max_threshold": "150 packets", "mean_packet_size": "1500 B"}
    assert fitted_queue(scenario, place, own, {}) == fitted
    assert 'min_threshold = "9 packets"' in with_queue(scenario, place, own, {}).to_toml()
    assert fitted_queue(scenario, place, other, {})["min_threshold"] == "50 packets"
    preset = fast('queue.dbl = { preset = "catalyst4500" }')
    (dbl,) = contenders_of("dbl")
    assert fitted_queue(preset, find_place(preset, None), dbl, {}) == {"limit": "2000 packets"}


def test_fitted_parameters_are_printed_and_kept(forebay: Command, office: Path, tmp_path: Path) -> None:
    short = ["--seeds", "1", "--set", "duration=600 ms", "--out", "out"]
    done = forebay("compare", "office.toml", "--queue", "red,feng_red,drr", *short)
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    thresholds = "min_threshold 5 packets, max_threshold 15 packets, mean_packet_size 1500 B"
    assert f"red, feng_red: limit 50 packets, {thresholds}" in printed
    assert "drr: limit 50 packets" in printed
    document = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert document["fitted"]["drr"] == {"limit": "50 packets"}
    assert fb.Comparison.load(tmp_path / "out").fitted == document["fitted"]


def test_queues_of_other_places() -> None:
    chain = fb.Scenario.from_toml("""
        duration = "1 s"
        [topology.chain]
        hops = 2
        access = { rate = "100 Mbps", delay = "1 ms" }
        link = { rate = "10 Mbps", delay = "1 ms", queue = "red" }
        [[flows]]
        name = "tcp"
        transport = "tcp"
    """)
    assert find_place(chain, None).links == ("hop-1", "hop-2")
    assert fb.compare(chain, ["drop_tail"], seeds=1).table.item(0, "utilization") > 0.1
    graph = fb.Scenario.from_toml("""
        duration = "1 s"
        [topology.graph]
        nodes = [{ name = "a" }, { name = "r", kind = "router" }, { name = "b" }]
        [[topology.graph.links]]
        from = "a"
        to = "r"
        rate = "100 Mbps"
        delay = "1 ms"
        [[topology.graph.links]]
        from = "r"
        to = "b"
        rate = "10 Mbps"
        delay = "1 ms"
        queue.red = { limit = "40 packets" }
        [[flows]]
        name = "tcp"
        transport = "tcp"
        from = "a"
        to = "b"
    """)
    assert find_place(graph, None).links == ("r->b",)
    assert find_place(graph, "topology.graph.links.r->b.queue").links == ("r->b",)
    assert fb.compare(graph, ["drop_tail"], seeds=1).parameters["drop_tail"].count("40 packets") == 1
    for path in ("topology.graph.links.7.queue", "topology.graph.links.0", "topology.star.bottleneck.queue"):
        with pytest.raises(fb.InputError, match="--at"):
            find_place(graph, path)


def test_files_hold_what_the_frames_do(comparison: fb.Comparison, tmp_path: Path) -> None:
    comparison.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "scenario.toml",
        *(f"compare.{it}" for it in ("csv", "json", "md", "html", "png", "svg")),
    }
    document = json.loads((tmp_path / "compare.json").read_text())
    assert document == comparison.to_dict()
    assert [row["queue"] for row in document["queues"]] == NAMES
    assert document["queues"][0]["groups"][0].keys() >= set(GROUP_METRICS)
    wide = pl.read_csv(tmp_path / "compare.csv")
    assert wide.get_column("tcp.goodput_bps").to_list() == pytest.approx(
        comparison.of_group("tcp").get_column("goodput_bps").to_list()
    )
    page = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert page.count("<tr") == 2 + len(NAMES)
    assert all(column.cell(0).split(" ")[0] in page for column in columns_of(comparison, every=True))
    assert (tmp_path / "compare.md").read_text().count("\n") == 2 + len(NAMES)


@pytest.fixture(scope="module")
def hostile() -> fb.Comparison:
    """Names that Markdown, HTML, spreadsheets and matplotlib would take for something else."""
    text = SCENARIO.replace('name = "flood"', 'name = "=<b>&|$x^$"').replace('name = "tcp"', 'name = "-t_c_p"')
    queues = {"<script>|": "red", "=1+1": "drop_tail", "`$\\frac$": "drr"}
    return fb.compare(fb.Scenario.from_toml(text, "@office.toml"), queues, seeds=1)


def test_a_page_cannot_be_broken_by_names(hostile: fb.Comparison) -> None:
    page = hostile.to_html()
    assert "&lt;script&gt;|" in page
    assert "<script>|" not in page
    assert "<b>&" not in page


def test_a_saved_comparison_is_loaded_as_it_was(comparison: fb.Comparison, tmp_path: Path) -> None:
    comparison.save(tmp_path)
    loaded = fb.Comparison.load(tmp_path)
    assert loaded.to_dict() == comparison.to_dict()
    assert loaded.toml == comparison.toml
    for name in ("table", "groups", "runs"):
        assert getattr(loaded, name).equals(getattr(comparison, name))
    (tmp_path / "compare.json").write_text("{}")
    with pytest.raises(fb.InputError, match=r"cannot read .*compare\.json"):
        fb.Comparison.load(tmp_path)
    with pytest.raises(fb.InputError, match="holds no comparison"):
        fb.Comparison.load(tmp_path / "nothing")


def test_markdown_escapes_names(hostile: fb.Comparison) -> None:
    head, _, *rows = hostile.to_markdown().splitlines()
    assert "<b>" not in head
    assert r"=&lt;b&gt;&amp;\|\$x^\$" in head
    assert r"-t\_c\_p" in head
    columns = len(re.findall(r"(?<!\\)\|", head))
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [columns] * 3
    assert [row.split(" | ")[0] for row in rows] == [r"| `<script>\|`", "| `=1+1`", r"| `` `$\frac$ ``"]


def test_a_spreadsheet_finds_no_formula(hostile: fb.Comparison, tmp_path: Path) -> None:
    hostile.save(tmp_path)
    with (tmp_path / "compare.csv").open(newline="") as file:
        head, *rows = list(csv.reader(file))
    assert not [cell for row in [head, *rows] for cell in row[:2] if re.match(r"[=+\-@]", cell)]
    assert not [cell for cell in head if re.match(r"[=+\-@]", cell)]
    assert "'=<b>&|$x^$.goodput_bps" in head
    assert [row[0] for row in rows] == ["<script>|", "'=1+1", "`$\\frac$"]


def test_terminal_tables_fit_their_width(comparison: fb.Comparison) -> None:
    from rich.console import Console

    for width in (60, 100, 200):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(*terminal_tables(comparison, width), sep="\n")
        text = console.export_text()
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= width
        for column in columns_of(comparison, every=width > 60):
            assert column.cell(0) in text
        assert ("left out, too wide for the terminal" in text) == (width == 60)


def test_delay_is_shown_for_each_group_and_not_averaged(comparison: fb.Comparison) -> None:
    headings = [column.heading for column in columns_of(comparison, every=False) if column.section == "Delay"]
    assert headings == ["p50 tcp x3", "p99 tcp x3", "p50 flood", "p99 flood"]


def test_the_command(forebay: Command, office: Path, tmp_path: Path) -> None:
    done = forebay("compare", office, "--queues", "drop_tail,dbl", "--queue", "R=red", "--seeds", "2")
    assert done.returncode == 0
    for expected in ("drop_tail", "dbl", "Jain's index", "Mb/s", "±"):
        assert expected in done.stdout
    assert (tmp_path / "out/compare/office/compare.html").exists()
    again = forebay("compare", office, "--queues", "drop_tail", "--seeds", "2", "--json")
    document = json.loads(again.stdout)
    assert [row["queue"] for row in document["queues"]] == ["drop_tail"]


def test_finished_runs(forebay: Command, office: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        forebay("run", office, "--seed", str(seed), "--out", tmp_path / f"plain-{seed}")
    forebay("run", office, "--set", "topology.star.bottleneck.queue=drr", "--out", tmp_path / "fair")
    done = forebay("compare", tmp_path / "plain-1", tmp_path / "plain-2", tmp_path / "fair", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)["queues"]
    assert [(row["queue"], row["discipline"], row["seeds"]) for row in rows] == [
        ("plain", "drop_tail", 2),
        ("fair", "drr", 1),
    ]
    assert rows[0]["groups"][1]["goodput_bps_ci95"] is not None
    assert "50 packets" in rows[0]["parameters"]
    assert rows[1]["cpu_ns_per_packet"] > 0


SWITCH = """
duration = "50 ms"

[topology.switch]
ports = 2
access = { rate = "10 Mbps", delay = "1 ms" }
input = { rate = "10 Mbps", delay = "1 ms" }
output = { rate = "10 Mbps", delay = "1 ms", queue.drop_tail = { limit = "20 packets" } }

[[flows]]
name = "tcp"
count = 4
transport = "tcp"
"""

ETHERNET = """
duration = "1 ms"

[topology.ethernet]
link = { rate = "10 Gbps", delay = "500 ns" }
switches = [{ name = "SW", nodes = ["1", "2", "3"] }]

[[flows]]
name = "frames"
from = ["1", "2"]
to = "3"
transport.frames = { rate = "6 Gbps" }
"""


def test_the_outputs_of_a_switch_are_compared(forebay: Command, tmp_path: Path) -> None:
    (tmp_path / "switch.toml").write_text(SWITCH)
    done = forebay("compare", "switch.toml", "--queue", "drop_tail,red", "--seeds", "1", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [row["queue"] for row in document["queues"]] == ["drop_tail", "red"]
    assert all("20 packets" in row["parameters"] for row in document["queues"])
    place = find_place(fb.Scenario.from_toml(SWITCH), None)
    assert (place.path, place.links) == ("topology.switch.output.queue", ("out-1", "out-2"))


def test_disciplines_and_runs_of_an_ethernet_are_compared(forebay: Command, tmp_path: Path) -> None:
    (tmp_path / "ethernet.toml").write_text(ETHERNET)
    done = forebay("compare", "ethernet.toml", "--queue", "drop_tail,codel", "--seeds", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["queue"] for row in json.loads(done.stdout)["queues"]] == ["drop_tail", "codel"]
    place = find_place(fb.Scenario.from_toml(ETHERNET), None)
    assert (place.path, place.links) == ("topology.ethernet.queue", ("SW->1", "SW->2", "SW->3"))
    scheme = ["--set", "topology.ethernet.congestion_management=qcn"]
    done = forebay("compare", "ethernet.toml", "--queue", "codel", *scheme)
    assert (done.returncode, done.stdout) == (2, "")
    assert "both `queue` and `congestion_management`" in done.stderr
    for arbiter in ("fifo", "round_robin"):
        words = ["--set", f"topology.ethernet.switch.arbiter={arbiter}", "--out", arbiter]
        assert forebay("run", "ethernet.toml", *words).returncode == 0
    done = forebay("compare", "fifo", "round_robin", "--at", "SW->3", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["queue"] for row in json.loads(done.stdout)["queues"]] == ["fifo", "round_robin"]


def test_a_run_without_queues_or_with_a_file_less_is_named(forebay: Command, office: Path, tmp_path: Path) -> None:
    words = ["--set", "topology.star.bottleneck={ rate = '10 Mbps', delay = '5 ms' }", "--out", "unqueued"]
    assert forebay("run", office, *words).returncode == 0
    done = forebay("compare", "unqueued")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: unqueued: the run has no queue to compare")
    assert forebay("run", office, "--out", "whole").returncode == 0
    (tmp_path / "whole" / "queues.parquet").unlink()
    for command in ("compare", "plot"):
        done = forebay(command, "whole")
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is no whole/queues.parquet" in done.stderr
    (tmp_path / "whole" / "result.json").unlink()
    assert "there is no whole/result.json" in forebay("plot", "whole").stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["missing.toml"], "missing.toml"),
        (["office.toml", "--queue", "rde"], "did you mean red"),
        (["office.toml", "--queue", "red:min_treshold=5 packets"], "min_threshold"),
        (["office.toml", "--at", "topology.star.botleneck.queue"], "topology.star.bottleneck.queue"),
        (["office.toml", "--seeds", "0"], "--seeds"),
        (["office.toml", "--settings", "nothing.toml"], "nothing.toml"),
        (["office.toml", "office.toml"], "is not a folder"),
        (["empty"], "no complete result"),
        (["empty", "--seeds", "2"], "--seeds"),
        (["office.toml", "--out", "office.toml/below"], "office.toml/below"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    forebay: Command, office: Path, tmp_path: Path, arguments: list[str], named: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = forebay("compare", *arguments, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_stopped_call_goes_on_from_its_finished_runs(office: Path, tmp_path: Path) -> None:
    words = [
        "compare",
        "office.toml",
        "--queue",
        "drop_tail",
        "--queue",
        "drr",
        "--seeds",
        "2",
        "--jobs",
        "1",
        "--out",
        "o",
    ]
    words += ["--set", "duration=100 s"]
    command = [sys.executable, "-m", "forebay", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while not list(tmp_path.glob("o/runs/*.parquet")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("o/runs/*.parquet")}
    assert kept
    if process.returncode != 0:  # It may have been quicker than the signal.
        assert process.returncode == 130
        assert "the same command continues" in stderr
        assert not (tmp_path / "o/compare.json").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert done.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(tmp_path.glob("o/runs/*.parquet"))) == 4


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/comparison/*.toml")), ids=lambda path: path.stem)
def test_the_scenarios_of_the_comparison_page(path: Path) -> None:
    from forebay.comparison.contenders import read_settings

    if path.stem.endswith(".queues"):
        assert read_settings(path)["all"]
        return
    settings = read_settings(path.with_suffix(".queues.toml"))
    scenario = fb.Scenario.load(path, {"duration": "2 s", "warmup": "1 s"})
    assert scenario.description
    comparison = fb.compare(scenario, settings=settings, seeds=1)
    assert comparison.left_out == ()
    assert comparison.table.height == len(contenders_of("all"))
