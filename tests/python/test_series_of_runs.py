"""Each value of a run's time series is over a whole interval: the rest at the end of a run has no value."""

from __future__ import annotations

import numpy as np
import pytest

import forebay as fb

NETWORKS = {
    "star": """
[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "20 Mbps", delay = "2 ms", queue.fq_codel = {} }

[[flows]]
name = "tcp"
count = 2
transport = "tcp"

[[flows]]
name = "flood"
transport.udp = { packet = "1500 B", constant = { rate = "30 Mbps" } }
""",
    "switch": """
[topology.switch]
ports = 2
fabric.cioq = {}
load.matrix = [[0.5, 0.5], [0.5, 0.5]]
input = { rate = "20 Mbps", delay = "1 us" }
output = { rate = "20 Mbps", delay = "1 us" }

[[flows]]
name = "cells"
transport.cells = { size = "500 B", load = 1.0 }
""",
    "ethernet": """
[topology.ethernet]
link = { rate = "20 Mbps", delay = "500 ns" }
switch = { memory = "60 KB", pause = { high = "50 KB", low = "40 KB" } }
adapter = { egress_memory = "60 KB", pause = { high = "50 KB", low = "40 KB" } }
switches = [{ name = "A", nodes = ["1", "2", "3"] }]

[[flows]]
name = "all"
from = ["1", "2"]
to = "3"
transport.frames = { rate = "18 Mbps", size = "1500 B" }
""",
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("rest_ms", [0, 1, 50, 99])
def test_a_series_has_a_value_for_each_whole_interval(name: str, rest_ms: int) -> None:
    head = f'name = "{name}"\nduration = "{1000 + rest_ms} ms"\n'
    probes = '\n[probes]\ninterval = "100 ms"\nseries = ["queues", "flows", "links"]\n'
    result = fb.run(fb.Scenario.from_toml(head + NETWORKS[name] + probes))
    sampled = list(result.all_series)
    assert {series.kind for series in sampled} >= {"flow", "link"}
    for series in sampled:
        assert len(series.values) == 10, (series.name, series.quantity)
        assert (series.start_s, series.interval_s) == (0.1, 0.1)
        if series.quantity == "utilization":
            assert np.nanmax(series.values) <= 1 + 1e-12, series.name
        # One packet of 1500 bytes more than the line carries, at most: a packet counts when it is complete.
        if series.quantity == "goodput_bps":
            assert np.nanmax(series.values) <= 20e6 + 1500 * 8 / 0.1, series.name
