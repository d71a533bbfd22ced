"""A trace offers the load that the simulation had on the link, for every transport and every header setting."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay as fb

STAR = """
duration = "1 s"

[topology.star]
access = { rate = "20 Mbps", delay = "2 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue.drop_tail = { limit = "20 packets" } }
"""

SWITCH = """
duration = "2 ms"

[topology.switch]
ports = 2
fabric.cioq = {}
load.matrix = [[0.5, 0.5], [0.5, 0.5]]
input = { rate = "1 Gbps", delay = "1 us" }
output = { rate = "1 Gbps", delay = "1 us" }
"""

ETHERNET = """
duration = "2 ms"

[topology.ethernet]
link = { rate = "1 Gbps", delay = "500 ns" }
switch = { memory = "60 KB", pause = { high = "50 KB", low = "40 KB" } }
adapter = { egress_memory = "60 KB", pause = { high = "50 KB", low = "40 KB" } }
switches = [{ name = "A", nodes = ["1", "2", "3"] }]
"""

BOTH = ["bottleneck", "reverse"]
TO_3 = 'from = ["1", "2"]\nto = "3"'

CASES = {
    "tcp": (STAR, BOTH, 'transport = "tcp"'),
    "tcp, linux": (STAR, BOTH, 'transport.tcp = { preset = "linux" }'),
    "tcp, ns2": (STAR, BOTH, 'transport.tcp = { preset = "ns2" }'),
    "tcp, timestamps and sack": (
        STAR,
        BOTH,
        "transport.tcp = { sack = true, timestamps = true }",
    ),
    "tcp, sack": (STAR, BOTH, "transport.tcp = { sack = true, timestamps = false }"),
    "tcp without headers": (STAR, BOTH, 'transport.tcp = { header = "0 B" }'),
    "tcp, header of IPv6": (STAR, BOTH, 'transport.tcp = { header = "60 B" }'),
    "tcp, long header": (STAR, BOTH, 'transport.tcp = { header = "97 B" }'),
    "tcp, short segments": (STAR, BOTH, 'transport.tcp = { segment = "90 B" }'),
    "tcp, long ACKs": (STAR, BOTH, 'transport.tcp = { ack_size = "103 B" }'),
    "tcp, short ACKs": (STAR, BOTH, 'transport.tcp = { ack_size = "24 B" }'),
    "tcp with ECN": (STAR, BOTH, "transport.tcp = { ecn = true }"),
    "udp": (STAR, ["bottleneck"], 'transport.udp = { packet = "200 B", constant = { rate = "8 Mbps" } }'),
    "udp, long": (STAR, ["bottleneck"], 'transport.udp = { packet = "65535 B", constant = { rate = "8 Mbps" } }'),
    "udp, short": (STAR, ["bottleneck"], 'transport.udp = { packet = "24 B", constant = { rate = "1 Mbps" } }'),
    "cells": (SWITCH, ["in-1", "out-2"], 'transport.cells = { size = "53 B", load = 0.8 }'),
    "frames": (
        ETHERNET,
        ["1->A", "A->3", "A->1"],
        TO_3 + '\ntransport.frames = { rate = "900 Mbps", size = "1500 B" }',
    ),
    "tcp over an Ethernet": (ETHERNET, ["1->A", "A->3", "3->A"], TO_3 + '\ntransport = "tcp"'),
    "udp over an Ethernet": (
        ETHERNET,
        ["1->A", "A->3"],
        TO_3 + '\ntransport.udp = { packet = "200 B", constant = { rate = "8 Mbps" } }',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_trace_replayed_offers_the_load_of_its_link(name: str, tmp_path: Path) -> None:
    network, links, group = CASES[name]
    traces = "".join(
        f'[[traces]]\nlink = "{link}"\nfile = "{number}.pcapng"\nsnaplen = {96 if number else 65535}\n'
        for number, link in enumerate(links)
    )
    count = "" if network is ETHERNET or "cells" in group else "count = 2\n"
    flows = f'[[flows]]\nname = "all"\n{count}{group}\n'
    result = fb.run(fb.Scenario.from_toml(f'name = "traced"\n{network}\n{flows}\n{traces}'), out=tmp_path)
    crossed = {row["name"]: row for row in result.links.iter_rows(named=True)}
    for number, link in enumerate(links):
        replayed = fb.replay(tmp_path / f"{number}.pcapng", rate="100 Gbps", queue="drop_tail")
        assert replayed.packets == crossed[link]["packets"] > 0, link
        assert replayed.bytes == crossed[link]["bytes"], link
        assert replayed.packets_cut == 0, link
        # Flows remain distinct, and nothing but a packet's own length is longer than a frame.
        flow_names = replayed.flows.get_column("flow").to_list()
        assert all(flow.startswith(("TCP", "UDP")) for flow in flow_names), flow_names
        assert [warning["text"] for warning in replayed.warnings if "longer than" not in warning["text"]] == []
        assert ("long" in name and "udp" in name) == bool(replayed.warnings)
