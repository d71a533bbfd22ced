"""Shares of hosts: in results, on the terminal, in reports, comparisons and sweeps."""

from __future__ import annotations

import math
import re
from pathlib import Path

import polars as pl
import pytest

import forebay as fb
from forebay.display.summary import result_tables
from forebay.reporting.runs import run_section
from forebay.runs.hosts import End, Hosts, shares_of_hosts
from forebay.storage.stored import write_frame

HOME = """
duration = "3 s"
warmup = "1 s"

[topology.home]
hosts = [{ name = "laptop" }, { name = "phone" }]
servers = [{ name = "cloud" }]
up = { rate = "10 Mbps", delay = "5 ms" }
down = { rate = "10 Mbps", delay = "5 ms", queue = "drop_tail" }

[[flows]]
name = "updates"
count = 3
from = "cloud"
to = "laptop"
transport.udp = { packet = "1000 B", constant = { rate = "2 Mbps", random_phase = true } }

[[flows]]
name = "film"
from = "cloud"
to = "phone"
transport.udp = { packet = "1000 B", constant = { rate = "2 Mbps", random_phase = true } }

[[flows]]
name = "copy"
from = "laptop"
to = "phone"
transport.udp = { packet = "1000 B", constant = { rate = "5 Mbps" } }

[[flows]]
name = "upload"
from = "phone"
to = "cloud"
transport.udp = { packet = "1000 B", constant = { rate = "1 Mbps" } }
"""
JAIN = (6 + 2) ** 2 / (2 * (6**2 + 2**2))


@pytest.fixture(scope="module")
def home() -> fb.Result:
    return fb.run(fb.Scenario.from_toml(HOME, "home.toml"))


def test_the_hosts_of_a_home_are_those_behind_the_gateway(home: fb.Result) -> None:
    assert home.flows.get_column("line").to_list() == ["down"] * 4 + ["none", "up"]
    hosts = home.hosts
    assert hosts.select("name", "by", "flows").rows() == [
        ("phone", "source", 1),
        ("laptop", "destination", 3),
        ("phone", "destination", 1),
    ]
    for rate in ("goodput_bps", "throughput_bps"):
        assert hosts.get_column(rate).to_list() == pytest.approx([1e6, 6e6, 2e6], rel=0.01)
    assert home.jain_of_hosts("destination") == pytest.approx(JAIN, abs=0.01)
    assert home.jain_of_hosts("source") == 1.0
    with pytest.raises(fb.InputError, match="source, destination"):
        home.jain_of_hosts("host")  # type: ignore[arg-type]


def test_elsewhere_every_end_of_a_flow_is_a_host(result: fb.Result) -> None:
    hosts = result.hosts
    assert "line" not in result.flows.columns
    assert hosts.filter(pl.col("by") == "source").get_column("flows").to_list() == [1, 1, 1, 1]
    (sink,) = hosts.filter(pl.col("by") == "destination").rows(named=True)
    assert (sink["name"], sink["flows"]) == ("sink", 4)
    assert sink["goodput_bps"] == pytest.approx(result.flows.get_column("goodput_bps").sum())


def test_a_result_of_a_version_without_hosts_has_none(home: fb.Result, tmp_path: Path) -> None:
    home.save(tmp_path / "run")
    assert fb.load(tmp_path / "run").hosts.equals(home.hosts)
    path = tmp_path / "run/flows.parquet"
    older = home.flows.drop("source", "destination", "line")
    assert shares_of_hosts(older.to_dict(), home.queue_flows.to_dict()) == {}
    write_frame(older, path)
    loaded = fb.load(tmp_path / "run")
    assert loaded.hosts.columns == home.hosts.columns
    assert loaded.hosts.is_empty()
    assert loaded.jain_of_hosts("source") is None


def test_the_terminal_shows_hosts_that_share_otherwise_than_flows(home: fb.Result, result: fb.Result) -> None:
    shown = [str(table) for table in result_tables(home.to_rows(series=False), 80)]
    (fairness,) = [line for line in shown if "index of hosts" in line]
    assert re.fullmatch(r"\[dim\]Jain's index of hosts: down 0\.80\d\[/\]", fairness)
    assert not any("index of hosts" in str(table) for table in result_tables(result.to_rows(series=False), 80))


def test_a_report_has_the_table_of_hosts_and_the_index(home: fb.Result, result: fb.Result, tmp_path: Path) -> None:
    section = run_section(home, "home", tmp_path)
    facts = dict(section.facts)
    assert float(facts["Jain's index of destinations"]) == pytest.approx(JAIN, abs=0.01)
    assert "Jain's index of sources" not in facts
    headings = [getattr(part, "heading", "") for part in section.parts]
    assert headings.index("Hosts") == headings.index("Flows") + 1
    assert "Hosts" not in [getattr(part, "heading", "") for part in run_section(result, "small", tmp_path).parts]


def shown_ends(flows: list[tuple[str, str, str]], at: dict[str, list[str]] | None = None) -> list[End]:
    """The ends at which hosts are shown: of flows `(name, source, destination)`, and the flows that pass each queue."""
    columns = dict(zip(("name", "source", "destination"), zip(*flows, strict=True), strict=True))
    passing = [(queue, flow) for queue, names in (at or {}).items() for flow in names]
    queue_flows = {
        "queue": [queue for queue, _ in passing],
        "flow": [flow for _, flow in passing],
        "direction": ["acks" if flow == "back" and queue == "there" else "data" for queue, flow in passing],
    }
    return list(shares_of_hosts({**columns, "goodput_bps": [1e6] * len(flows)}, queue_flows))


TWO = [("f-0", "a", "b"), ("f-1", "a", "b")]
BACK = ("back", "b", "a")
ELSEWHERE = ("other", "c", "d")


def test_hosts_are_compared_where_they_share_something() -> None:
    # On a full-duplex path, the two directions share nothing.
    assert shown_ends([*TWO, BACK]) == []
    assert shown_ends([*TWO, BACK], {"there": ["f-0", "f-1", "back"]}) == []
    assert shown_ends([*TWO, ("other", "c", "b")]) == ["source"]
    assert shown_ends([("f-0", "b", "a"), ("f-1", "b", "a"), ("other", "b", "c")]) == ["destination"]
    assert shown_ends([*TWO, ("other", "c", "b"), ("more", "c", "e")]) == []
    # Pairs of a dumbbell share its bottleneck, if all of them pass it.
    assert shown_ends([*TWO, ELSEWHERE]) == []
    assert shown_ends([*TWO, ELSEWHERE], {"x": ["f-0", "f-1"], "y": ["other"]}) == []
    assert shown_ends([*TWO, ELSEWHERE], {"x": ["f-0"], "y": ["f-0", "f-1", "other"]}) == ["source", "destination"]


def test_requests_make_no_host() -> None:
    web = [("w-0", "a", "b"), ("w-0/request", "b", "a"), ("w-1", "a", "b"), ("w-1/request", "b", "a")]
    assert shown_ends(web, {"x": [name for name, *_ in web]}) == []
    flows = {"name": [name for name, *_ in web], "source": [source for _, source, _ in web]}
    assert (Hosts.of(flows, "source").names, Hosts.of(flows, "source").flows()) == (["a"], [2])


FULL_DUPLEX = """
duration = "1 s"

[topology.graph]
nodes = [{ name = "a" }, { name = "b" }, { name = "L", kind = "router" }]
links = [
  { from = "a", to = "L", rate = "10 Mbps", delay = "1 ms", queue = "drop_tail" },
  { from = "L", to = "b", rate = "10 Mbps", delay = "1 ms", queue = "drop_tail" },
]

[[flows]]
name = "there"
count = 2
from = "a"
to = "b"
transport = "tcp"

[[flows]]
name = "back"
from = "b"
to = "a"
transport.udp = { packet = "500 B", constant = { rate = "10 kbps" } }
"""


def test_the_directions_of_a_full_duplex_path_are_not_compared(tmp_path: Path) -> None:
    run = fb.run(fb.Scenario.from_toml(FULL_DUPLEX))
    assert not any("index of hosts" in str(table) for table in result_tables(run.to_rows(series=False), 80))
    assert "Hosts" not in [getattr(part, "heading", "") for part in run_section(run, "run", tmp_path).parts]
    assert run.hosts.select("name", "by", "flows").rows()[:2] == [("a", "source", 2), ("b", "source", 1)]


DUMBBELL = """
duration = "2 s"

[topology.dumbbell]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "fq_codel" }
sources = 2
sinks = 3

[[flows]]
name = "tcp"
count = 3
transport = "tcp"

[[flows]]
name = "late"
start = "1999 ms"
transport.udp = { packet = "500 B", constant = { rate = "10 kbps" } }
"""


def test_hosts_of_a_dumbbell_share_its_bottleneck() -> None:
    run = fb.run(fb.Scenario.from_toml(DUMBBELL))
    shown = [str(table) for table in result_tables(run.to_rows(series=False), 80)]
    (fairness,) = [line for line in shown if "index of hosts" in line]
    assert "sent 0." in fairness
    assert "received" in fairness


def test_hosts_that_get_nothing_have_no_index(tmp_path: Path) -> None:
    run = fb.run(fb.Scenario.from_toml(HOME).override({"topology.home.down.down": [{"from": "0 s"}]}))
    assert run.jain_of_hosts("destination") is None
    assert shares_of_hosts(run.flows.to_dict(), run.queue_flows.to_dict())["destination"].jain is None
    shown = [str(table) for table in result_tables(run.to_rows(series=False), 80)]
    assert "[dim]Jain's index of hosts: down -[/]" in shown
    assert dict(run_section(run, "home", tmp_path).facts)["Jain's index of destinations"] == "-"
    cut = {"topology.home.down.down": [{"from": "0 s"}], "topology.home.up.down": [{"from": "0 s"}]}
    silent = fb.run(fb.Scenario.from_toml(HOME).override({**cut, "flows.copy.to": "cloud"}))
    assert dict(run_section(silent, "silent", tmp_path).facts)["Jain's index of goodputs"] == "-"


def test_sums_leave_out_what_has_no_value() -> None:
    hosts = Hosts.of({"name": ["1", "2", "3", "4"], "source": ["b", "a", "b", "c"]}, "source")
    assert hosts.names == ["b", "a", "c"]
    assert hosts.flows() == [2, 1, 1]
    sums = hosts.sums([1.0, 2.0, None, math.nan])
    assert sums[:2] == [1.0, 2.0]
    assert math.isnan(sums[2])
    none = Hosts.of({"name": ["1"], "source": ["a"], "line": ["down"]}, "source")
    assert none.names == []
    assert none.sums([1.0]) == []


def test_a_sweep_and_a_comparison_have_the_index_of_hosts(small: fb.Scenario) -> None:
    scenario = fb.Scenario.from_toml(HOME, "home.toml")
    sweep = fb.sweep(scenario, {"flows.updates.count": [1, 3]}, seeds=1)
    assert "jain_source" not in sweep.points.columns
    one, three = sweep.points.get_column("jain_destination").to_list()
    assert one is None
    assert three == pytest.approx(JAIN, abs=0.01)
    table = fb.compare(scenario, ["red", "fq_codel"], at="topology.home.down.queue", seeds=1).table
    assert table.get_column("jain_destination").to_list() == pytest.approx([JAIN, JAIN], abs=0.01)
    assert "jain_destination" not in fb.compare(small, ["red"], seeds=1).table.columns
