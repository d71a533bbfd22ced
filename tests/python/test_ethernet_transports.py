"""TCP and UDP across `topology.ethernet`, and queue disciplines at its switches."""

from __future__ import annotations

import io
from typing import Any

import polars as pl
import pytest
import tomli_w
from rich.console import Console

import forebay as fb
from forebay import ScenarioError
from forebay.display.summary import result_tables

GBPS = 1e9
# Linux' segments: 1500 B on the wire of which 1448 B are payload.
PAYLOAD = 1448 / 1500
RED = {"limit": "250 KB", "min_threshold": "30 KB", "max_threshold": "90 KB", "weight": 0.05, "ecn": True}


def tcp(name: str, sender: Any, receiver: str, **keys: Any) -> dict[str, Any]:
    transport = {"tcp": {"preset": "linux", **keys.pop("tcp", {})}}
    return {"name": name, "from": sender, "to": receiver, "transport": transport, **keys}


def udp(name: str, sender: str, receiver: str, rate: str, **keys: Any) -> dict[str, Any]:
    pattern = {"packet": "1500 B", "constant": {"rate": rate}}
    return {"name": name, "from": sender, "to": receiver, "transport": {"udp": pattern}, **keys}


def run(flows: list[dict[str, Any]], **ethernet: Any) -> fb.Result:
    pause = {
        "switch": {"memory": "300 KB", "pause": {"high": "280 KB", "low": "260 KB"}},
        "adapter": {"egress_memory": "150 KB", "pause": {"high": "140 KB", "low": "130 KB"}},
    }
    topology = {
        "link": {"rate": "10 Gbps", "delay": "500 ns"},
        "switches": [{"name": "A", "nodes": ["1", "2"]}, {"name": "B", "nodes": ["3", "4", "5"]}],
        "trunks": [["A", "B"]],
        **pause,
        **ethernet,
    }
    scenario = {"duration": "60 ms", "warmup": "20 ms", "topology": {"ethernet": topology}, "flows": flows}
    return fb.run(fb.Scenario.from_toml(tomli_w.dumps(scenario)))


def value(table: pl.DataFrame, name: str, column: str) -> Any:
    return table.filter(pl.col("name") == name)[column].item()


def test_tcp_fills_a_lossless_path_and_loses_nothing() -> None:
    result = run([tcp("bulk", "1", "4")])
    assert value(result.flows, "bulk", "goodput_bps") == pytest.approx(10 * GBPS * PAYLOAD, rel=1e-3)
    assert value(result.flows, "bulk", "packets_retransmitted") == 0
    # The ACKs take their part of the way back: one of 52 B for two segments.
    utilization = value(result.links, "4->B", "utilization")
    assert utilization == pytest.approx(52 / 3000, rel=0.02)


def test_flows_that_take_turns_have_hosts_of_their_own_and_the_switch_serves_them_alike() -> None:
    result = run([tcp("bulk", ["1", "2"], "4", count=4)])
    assert result.flows["name"].to_list() == [f"bulk-{number}" for number in range(4)]
    assert result.flows["goodput_bps"].to_list() == pytest.approx([2.5 * GBPS * PAYLOAD] * 4, rel=0.1)


def test_marks_keep_the_saturation_tree_away_from_a_victim() -> None:
    flows = [tcp("culprit", ["2", "3"], "4", count=2, tcp={"ecn": True}), udp("victim", "1", "5", "6 Gbps")]
    lossless, marked = run(flows), run(flows, queue={"red": RED})
    assert value(lossless.flows, "victim", "goodput_bps") < 5.5 * GBPS
    assert value(lossless.queues, "A->B", "paused_s") > 0.001
    assert value(marked.flows, "victim", "goodput_bps") == pytest.approx(6 * GBPS, rel=0.01)
    assert [table["pause_frames_sent"].sum() for table in (marked.queues, marked.adapters)] == [0, 0]
    assert value(marked.queues, "B->4", "discipline") == "red"
    assert value(marked.queues, "B->4", "packets_marked") > 10
    assert value(marked.links, "B->4", "utilization") > 0.97


def test_congestion_management_limits_tcp_and_never_its_acks() -> None:
    flows = [tcp("culprit", ["2", "3"], "4", count=2), udp("victim", "1", "5", "4 Gbps")]
    for scheme in ("ecm", "e2cm", "qcn", "fecn", "dbp"):
        result = run(flows, congestion_management=scheme)
        # While the loop settles, the saturation tree takes a little of it.
        assert value(result.flows, "victim", "goodput_bps") > 3.6 * GBPS, scheme
        assert value(result.links, "B->4", "utilization") > 0.8, scheme
        assert value(result.queues, "B->4", "length_mean_bytes") < 150e3, scheme


def test_the_limit_of_a_tcp_flow_is_a_series() -> None:
    probes = {"interval": "1 ms", "series": ["flows"]}
    topology = {
        "link": {"rate": "10 Gbps", "delay": "500 ns"},
        "switches": [{"name": "B", "nodes": ["1", "2", "3"]}],
        "congestion_management": "qcn",
    }
    flows = [tcp("bulk", ["1", "2"], "3", count=2)]
    scenario = {"duration": "20 ms", "probes": probes, "flows": flows, "topology": {"ethernet": topology}}
    result = fb.run(fb.Scenario.from_toml(tomli_w.dumps(scenario)))
    limits = result.series("flow", "bulk-0", "rate_limit_bps")["value"]
    assert len(limits) == 20
    assert min(limits.to_list()) < 10 * GBPS
    assert {series.quantity for series in result.find_series("flow", "bulk-0")} == {
        "sent_bps",
        "goodput_bps",
        "congestion_window_bytes",
        "rate_limit_bps",
    }


def test_a_class_that_is_stopped_leaves_the_others_alone() -> None:
    pause = {"priority_pause": {"high": "60 KB", "low": "50 KB"}}
    flows = [
        udp("hot", "1", "4", "9 Gbps", **{"class": 1}),
        udp("hotter", "3", "4", "9 Gbps", **{"class": 1}),
        udp("calm", "2", "5", "500 Mbps", **{"class": 2}),
    ]
    queues = {"switch": {"memory": "300 KB", **pause}, "adapter": {"egress_memory": "150 KB", **pause}}
    result = run(flows, queue="drop_tail", **queues)
    assert value(result.flows, "calm", "goodput_bps") == pytest.approx(0.5 * GBPS, rel=1e-3)
    assert value(result.flows, "calm", "delay_p99_s") < 20e-6  # a host takes up to 10 us for a packet
    assert result.flows["packets_dropped"].sum() == 0
    assert value(result.queues, "B->A", "pause_frames_sent") > 0


def test_a_conversation_crosses_an_ethernet_and_its_groups_are_told_apart() -> None:
    app = {"request_response": {"request": "300 B", "response": "20 KB", "think": "50 us"}}
    result = run([tcp("talk", ["1", "2"], "4", count=4, app=app)], queue="fq_codel")
    assert result.flows["transfers_completed"].sum() > 100
    document = {"scenario": "talk", "seed": 1, "duration_s": 0.06, "warmup_s": 0.02, **result.to_dict()}
    console = Console(width=120, file=io.StringIO())
    console.print(*result_tables(document, 120))
    assert isinstance(console.file, io.StringIO)
    groups, _, _ = console.file.getvalue().partition("Jain's index of all")
    for group in ("talk ", "talk/request"):
        (row,) = [line.split() for line in groups.splitlines() if line.startswith(group)]
        assert row[1:3] == ["tcp", "4"], row


def test_a_graph_of_ethernet_switches_takes_any_link() -> None:
    node = {"memory": "400 KB", "pause": {"high": "280 KB", "low": "260 KB"}}
    link = {"delay": "500 ns"}
    graph = {
        "adapter": {"pause": {"high": "140 KB", "low": "130 KB"}},
        "nodes": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "S", "kind": {"ethernet_switch": node}}],
        "links": [
            {"from": "a", "to": "S", "rate": "40 Gbps", **link},
            {"from": "S", "to": "b", "rate": "10 Gbps", **link, "queue": {"red": RED}},
            {"from": "S", "to": "c", "rate": "1 Gbps", **link},
        ],
    }
    flows = [tcp("fast", "a", "b", tcp={"ecn": True}), tcp("slow", "a", "c")]
    scenario = {"duration": "60 ms", "warmup": "20 ms", "topology": {"graph": graph}, "flows": flows}
    result = fb.run(fb.Scenario.from_toml(tomli_w.dumps(scenario)))
    # PAUSE for the slow flow stops the fast one as well: that is what a lossless link costs.
    assert value(result.flows, "slow", "goodput_bps") == pytest.approx(1 * GBPS * PAYLOAD, rel=1e-3)
    assert 1 * GBPS < value(result.flows, "fast", "goodput_bps") < 10 * GBPS
    assert result.flows["packets_dropped"].to_list()[1] == 0
    assert dict(zip(result.queues["name"], result.queues["discipline"], strict=True)) == {
        "S->a": "fifo",
        "S->b": "red",
        "S->c": "fifo",
    }


def test_gauges_of_flows_are_those_of_the_discipline() -> None:
    probes = {"interval": "5 ms", "flow_gauges": [{"queue": "B->4", "flows": ["bulk"]}]}
    topology = {
        "link": {"rate": "10 Gbps", "delay": "500 ns"},
        "switches": [{"name": "B", "nodes": ["3", "4"]}],
    }
    flows = [tcp("bulk", "3", "4")]
    scenario = {"duration": "20 ms", "probes": probes, "flows": flows, "topology": {"ethernet": topology}}
    with pytest.raises(ScenarioError, match="gauges"):
        fb.Scenario.from_toml(tomli_w.dumps(scenario))
    topology["queue"] = "dbl"
    result = fb.run(fb.Scenario.from_toml(tomli_w.dumps(scenario)))
    assert len(result.find_series("queue_flow", "B->4/bulk")) > 0
