"""Scenarios and runs that several tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

import forebay as fb

# A shell starts what runs in the background with Ctrl-C ignored, and the tests' children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine must not fail a test: none is timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

SMALL = """
duration = "4 s"
warmup = "500 ms"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "5 ms", queue.dbl = {} }

[[flows]]
name = "tcp"
count = 3
transport = "tcp"
start = { uniform = ["0 s", "100 ms"] }

[[flows]]
name = "bf"
transport.udp = { packet = "1000 B", constant = { rate = "12 Mbps" } }
start = "1 s"
stop = "3 s"

[probes]
interval = "100 ms"
series = ["queues", "flows", "links"]
flow_gauges = [{ queue = "bottleneck", flows = ["bf"] }]

[[traces]]
link = "bottleneck"
file = "bottleneck.pcapng"
"""

ETHERNET = """
duration = "20 ms"

[topology.ethernet]
link = { rate = "10 Gbps", delay = "500 ns" }
switch = { memory = "300 KB", pause = { high = "280 KB", low = "260 KB" } }
adapter = { egress_memory = "150 KB", pause = { high = "140 KB", low = "130 KB" } }
switches = [{ name = "SW", nodes = ["1", "2", "3", "4"] }]

[[flows]]
name = "culprit"
from = ["1", "2"]
to = "3"
transport.frames = { rate = "8 Gbps" }

[[flows]]
name = "victim"
from = "1"
to = "4"
transport.frames = { rate = "2 Gbps" }

[probes]
interval = "1 ms"
series = ["queues", "flows"]
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def small() -> fb.Scenario:
    return fb.Scenario.from_toml(SMALL, "small.toml")


@pytest.fixture(scope="session")
def result(small: fb.Scenario) -> fb.Result:
    return fb.run(small)


@pytest.fixture(scope="session")
def ethernet() -> fb.Result:
    return fb.run(fb.Scenario.from_toml(ETHERNET, "ethernet.toml"))


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture
def forebay(tmp_path: Path) -> Command:
    """Runs the command as a user does, in an empty folder."""

    def call(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "forebay", *map(str, arguments)]
        there = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | (env or {})
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120, env=there)

    return call
