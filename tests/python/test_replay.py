"""Captures through queues, from the package and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import forebay as fb
from conftest import Command


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, small: fb.Scenario) -> Path:
    """The trace of a simulated bottleneck: what the simulator writes, replay reads."""
    folder = tmp_path_factory.mktemp("capture")
    fb.run(small, out=folder)
    return folder / "bottleneck.pcapng"


def test_replay_gives_frames(capture: Path) -> None:
    replayed = fb.replay(capture, rate="5 Mbps", queue="drop_tail", settings={"limit": "20 packets"})
    assert (replayed.discipline, replayed.rate_bps, replayed.packets) == ("drop_tail", 5_000_000, replayed.packets)
    assert replayed.flows.get_column("packets").sum() == replayed.packets
    assert replayed.flows.get_column("packets_dropped").sum() == replayed.queue.item(0, "packets_dropped") > 0
    assert replayed.queue.item(0, "length_max_packets") <= 20


def test_replay_tells_flows_apart(capture: Path) -> None:
    flows = fb.replay(capture, rate="5 Mbps", queue="dbl").flows
    flood = flows.filter(pl.col("flow").str.starts_with("UDP"))
    assert flood.height == 1
    assert flood.item(0, "packets_dropped") > 0
    assert flows.schema["classified_at_s"] == pl.Float64


def test_the_command_prints_tables_or_one_document(forebay: Command, capture: Path) -> None:
    words = ("replay", capture, "--rate", "5Mbps", "--queue", "dbl", "--set", "dbl_max_cells=512")
    table = forebay(*words)
    assert (table.returncode, table.stderr) == (0, "")
    assert "UDP" in table.stdout
    assert "dbl at 5 Mb/s" in table.stdout
    document = json.loads(forebay(*words, "--json").stdout)
    assert document == fb.replay(capture, rate="5Mbps", queue="dbl", settings={"dbl_max_cells": 512}).to_dict()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--rate", "5Mbit", "--queue", "dbl"], "5Mbit"),
        (["--rate", "5Mbps", "--queue", "dlb"], "dbl"),
        (["--rate", "5Mbps", "--queue", "dbl", "--set", "dbl_max_cels=3"], "dbl_max_cells"),
        (["--rate", "5Mbps", "--queue", "dbl", "--to", "nowhere"], "nowhere"),
        (["--rate", "5Mbps", "--queue", "dbl", "--to", "192.0.2.99"], "no packet to replay"),
        (["--rate", "5Mbps"], "--queue"),
    ],
)
def test_bad_input(forebay: Command, capture: Path, arguments: list[str], named: str) -> None:
    done = forebay("replay", capture, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr


def test_what_is_no_capture(forebay: Command, small_file: Path, tmp_path: Path) -> None:
    for path in (small_file, tmp_path / "missing.pcap"):
        done = forebay("replay", path, "--rate", "5Mbps", "--queue", "dbl")
        assert (done.returncode, done.stdout) == (2, "")
        assert path.name in done.stderr
