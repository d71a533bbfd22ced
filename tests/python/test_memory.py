"""Runs that need more memory than there is: refused before they begin."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux shows how much memory is available", allow_module_level=True)

import resource

GIGABYTES = 4

LARGE = """
duration = "10 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Gbps", delay = "5 ms", queue.dbl = {} }

[[flows]]
name = "tcp"
count = 16000000
transport = "tcp"
"""


def limited(*arguments: str | Path, terminal: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command with an address space of a few gigabytes, its standard error on `terminal` if there is one."""
    limit = GIGABYTES << 30
    return subprocess.run(
        [sys.executable, "-m", "forebay", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if terminal is None else terminal,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.toml"
    path.write_text(LARGE, encoding="utf-8")
    return path


def test_a_run_that_needs_more_memory_than_there_is_is_refused(large: Path, tmp_path: Path) -> None:
    done = limited("run", large, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    first, parts, hint = done.stderr.splitlines()
    assert first.startswith("error: the run needs about ")
    assert "16,000,000 TCP flows need about " in parts
    assert hint.startswith("hint: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "overrides",
    [
        {"flows.tcp.count": "4000000000"},
        {"flows.tcp.count": "10", "probes.interval": "1 ps", "probes.series": "[]"}
        | {"probes.flow_gauges": '[{ queue = "bottleneck", flows = ["tcp"] }]'},
        {"flows.tcp.count": "10", "probes.interval": "1 ps"},
        {"flows.tcp.count": "1000000", "topology.star.access.queue": "{ fq_codel = { flows = 65536 } }"},
        {"flows.tcp.count": "10", "topology.star.bottleneck.queue": "{ fq_codel = { flows = 4294967295 } }"},
        {"flows.tcp.count": "10", "topology.star.bottleneck.queue": "{ sfq = { buckets = 4294967295 } }"},
        {"flows.tcp.count": "10", "topology.star.bottleneck.queue": "{ dbl = { flow_table_entries = 4294967295 } }"},
        {"flows.tcp.count": "10", "topology.star.bottleneck.queue": "{ sfb = { bins = 4294967295 } }"},
    ],
    ids="-".join,
)
def test_no_valid_value_ends_in_an_abort(large: Path, overrides: dict[str, str]) -> None:
    settings = [f"--set={path}={value}" for path, value in overrides.items()]
    done = limited("run", large, *settings)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_shows_the_refusal(large: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = limited("run", large, terminal=theirs)
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert "the run needs about" in shown
