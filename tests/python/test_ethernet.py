"""The load of scenarios with `topology.ethernet` on their links."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import tomli_w

import forebay as fb
from forebay import InputError
from forebay.experiment.load import experiment_folder, load_experiment
from forebay.experiment.plan import make_plan
from forebay.fair_rates.ethernet import EthernetLoad

GBPS = 1e9
FIVE = [
    {"name": "ES1", "nodes": ["1", "2", "3"]},
    {"name": "ES2", "nodes": ["4", "5", "6"]},
    {"name": "ES3", "nodes": ["7", "8"]},
    {"name": "ES4", "nodes": ["9", "10"]},
    {"name": "C0"},
]


def load(flows: list[dict[str, Any]], **ethernet: Any) -> EthernetLoad:
    topology = {"link": {"rate": "10 Gbps", "delay": "500 ns"}, **copy.deepcopy(ethernet)}
    return EthernetLoad.from_toml(
        tomli_w.dumps({"duration": "1 s", "topology": {"ethernet": topology}, "flows": flows})
    )


def flow(name: str, sender: Any, receiver: Any, rate: str, **keys: Any) -> dict[str, Any]:
    frames = {"rate": rate, **keys.pop("frames", {})}
    return {"name": name, "from": sender, "to": receiver, "transport": {"frames": frames}, **keys}


def test_output_generated_hot_spot_of_e2cm() -> None:
    # Scenario 3: N = 8 nodes at 8.5 Gb/s to all others, one of which takes 1 Gb/s: 8.5 N - 7.5 Gb/s in all.
    nodes = [str(node) for node in range(1, 9)]
    service = [{"node": "1", "rate": "1 Gbps"}]
    star = load([flow("all", nodes, "others", "8.5 Gbps")], switches=[{"name": "SW", "nodes": nodes}], service=service)
    assert len(star.sources) == 56
    assert star.sources[0].name == "all-1-2"
    for fairness in ("max_min", "proportional"):
        shares = star.fair_shares_at(0.0, fairness)
        assert shares.sum() / GBPS == pytest.approx(60.5, rel=1e-6)
        hot = [share for source, share in zip(star.sources, shares, strict=True) if source.name.endswith("-1")]
        assert hot == pytest.approx([GBPS / 7] * 7, rel=1e-6)


def test_multi_hop_hot_spot_of_e2cm() -> None:
    # Scenario 4: 28.5 Gb/s in all.
    trunks = [[f"ES{edge}", "C0"] for edge in (1, 2, 3, 4)]
    flows = [
        flow("low", [str(node) for node in range(1, 7)], "others", "2.5 Gbps"),
        flow("high", [str(node) for node in range(7, 11)], "others", "4 Gbps"),
    ]
    tree = load(flows, switches=FIVE, trunks=trunks, service=[{"node": "7", "rate": "500 Mbps", "at": "node"}])
    assert tree.fair_shares_at(0.0, "max_min").sum() / GBPS == pytest.approx(28.5)
    first = next(source for source in tree.sources if source.name == "low-1-10")
    assert first.path == ("1->ES1", "ES1->C0", "C0->ES4", "ES4->10")
    assert set(tree.capacities_bps) >= {"1->ES1", "ES1->1", "ES1->C0", "C0->ES1"}
    assert len(tree.capacities_bps) == 2 * (10 + 4)


def test_of_equally_short_ways_the_first_listed_end_decides() -> None:
    ring = [{"name": name, "nodes": [name.lower()]} for name in ("A", "B", "C", "D")]
    trunks = [["A", "B"], ["B", "C"], ["C", "D"], ["D", "A"]]
    both = load([flow("there", "a", "c", "1 Gbps"), flow("back", "c", "a", "1 Gbps")], switches=ring, trunks=trunks)
    assert [source.path for source in both.sources] == [
        ("a->A", "A->B", "B->C", "C->c"),
        ("c->C", "C->B", "B->A", "A->a"),
    ]


def test_flows_go_on_and_off() -> None:
    on_off = {"on_off": {"period": "200 ms", "duty": 0.5}}
    steady = flow("steady", ["1", "2"], "3", "10 Gbps", start="10 ms")
    toggled = flow("toggled", ["4"], "3", "10 Gbps", start="10 ms", stop="450 ms", frames=on_off)
    star = load([steady, toggled], switches=[{"name": "SW", "nodes": ["1", "2", "3", "4"]}])
    assert [source.name for source in star.sources] == ["steady-1-3", "steady-2-3", "toggled"]
    assert star.changes_s() == pytest.approx([0.0, 0.01, 0.11, 0.21, 0.31, 0.41, 0.45, 0.51])
    expected = {0.0: 0.0, 0.01: 10 / 3, 0.11: 0.0, 0.21: 10 / 3, 0.31: 0.0, 0.41: 10 / 3, 0.45: 0.0, 0.9: 0.0}
    for at_s, share in expected.items():
        assert star.fair_shares_at(at_s, "max_min")[2] / GBPS == pytest.approx(share)
    steps = star.fair_shares_over_time("max_min")
    assert [begin for begin, _, _ in steps] == pytest.approx(star.changes_s())
    assert steps[-1][1] == 1.0


def test_stagger_and_several_receivers() -> None:
    star = load(
        [flow("f", "1", ["2", "3"], "1 Gbps", stagger="5 ms")], switches=[{"name": "SW", "nodes": ["1", "2", "3"]}]
    )
    assert [(source.name, source.start_s) for source in star.sources] == [("f-1-2", 0.0), ("f-1-3", 0.005)]


def test_service_is_reduced_for_a_while() -> None:
    service = [{"node": "2", "rate": "1 Gbps", "from": "100 ms", "to": "200 ms"}]
    star = load([flow("f", "1", "2", "10 Gbps")], switches=[{"name": "SW", "nodes": ["1", "2"]}], service=service)
    assert [star.capacities_bps_at(at_s)["SW->2"] / GBPS for at_s in (0.0, 0.1, 0.2)] == [10.0, 1.0, 10.0]
    assert [star.capacities_bps_at(at_s)["2->SW"] / GBPS for at_s in (0.0, 0.1, 0.2)] == [10.0] * 3


def test_another_topology_is_refused() -> None:
    link = {"rate": "10 Mbps", "delay": "1 ms"}
    flow = {"name": "f", "transport": "tcp"}
    star = {"star": {"access": link, "bottleneck": link}}
    text = tomli_w.dumps({"duration": "1 s", "topology": star, "flows": [flow]})
    with pytest.raises(InputError, match=r"expected a scenario with topology.ethernet, and found star"):
        EthernetLoad.from_toml(text)


def test_flows_and_links_are_those_of_the_simulator() -> None:
    for path in sorted(experiment_folder().glob("e2cm/*.toml")):
        for text in {job.text for job in make_plan(load_experiment(path), quick=True, seeds=1).jobs}:
            scenario, read = fb.Scenario.from_toml(text), EthernetLoad.from_toml(text)
            assert [source.name for source in read.sources] == scenario.flows
            assert set(read.capacities_bps) == set(scenario.links)


def test_fair_shares_as_a_frame() -> None:
    text = tomli_w.dumps(
        {
            "duration": "20 ms",
            "topology": {
                "ethernet": {
                    "link": {"rate": "10 Gbps", "delay": "500 ns"},
                    "switches": [{"name": "SW", "nodes": ["1", "2", "3"]}],
                    "service": [{"node": "3", "rate": "4 Gbps", "from": "10 ms"}],
                }
            },
            "flows": [flow("f", ["1", "2"], "3", "10 Gbps")],
        }
    )
    shares = fb.fair_shares(fb.Scenario.from_toml(text), at_s=0.01)
    assert shares.columns == ["name", "group", "demand_bps", "max_min_bps", "proportional_bps"]
    assert shares["name"].to_list() == ["f-1-3", "f-2-3"]
    assert shares["max_min_bps"].to_list() == pytest.approx([2 * GBPS] * 2)
    assert shares["proportional_bps"].to_list() == pytest.approx([2 * GBPS] * 2, rel=1e-6)
    slower = {"flows.f.transport.frames.rate": "1 Gbps"}
    assert fb.fair_shares(fb.Scenario.from_toml(text), overrides=slower)["max_min_bps"].to_list() == [GBPS] * 2
