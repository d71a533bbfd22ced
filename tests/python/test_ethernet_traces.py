"""Traces of links of an Ethernet: every frame that crossed the link is there, PAUSE and messages among them."""

from __future__ import annotations

import struct
from pathlib import Path

import forebay as fb
from conftest import Command

NETWORK = """
name = "traced"
duration = "2 ms"

[topology.ethernet]
link = { rate = "10 Gbps", delay = "500 ns" }
congestion_management = "e2cm"
switch = { memory = "60 KB", pause = { high = "50 KB", low = "40 KB" } }
adapter = { egress_memory = "60 KB", pause = { high = "50 KB", low = "40 KB" } }
switches = [{ name = "A", nodes = ["1", "2"] }, { name = "B", nodes = ["3", "4"] }]
trunks = [["A", "B"]]
service = [{ node = "4", rate = "1 Gbps" }]

[[flows]]
name = "all"
from = ["1", "2", "3"]
to = "4"
transport.frames = { rate = "9 Gbps", size = "1500 B" }
"""

LINKS = ["1->A", "A->1", "A->B", "B->A", "B->4", "4->B"]
"""With data, with PAUSE and messages against it, and with both."""

ENHANCED_PACKET = 6


def packets(path: Path) -> list[int]:
    """The times of all packets of a pcapng file, in its units."""
    data, at, times = path.read_bytes(), 0, []
    while at < len(data):
        block, length = struct.unpack_from("<II", data, at)
        if block == ENHANCED_PACKET:
            high, low = struct.unpack_from("<II", data, at + 12)
            times.append(high << 32 | low)
        at += length
    return times


def test_a_trace_has_every_frame_that_crossed_the_link(forebay: Command, tmp_path: Path) -> None:
    traces = "".join(f'\n[[traces]]\nlink = "{link}"\nfile = "{number}.pcapng"\n' for number, link in enumerate(LINKS))
    results = {}
    for name, text in (("plain", NETWORK), ("traced", NETWORK + traces)):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        done = forebay("run", f"{name}.toml", "--out", name)
        assert done.returncode == 0, done.stderr
        results[name] = fb.load(tmp_path / name)
    crossed = dict(results["traced"].links.select("name", "packets").iter_rows())
    for number, link in enumerate(LINKS):
        times = packets(tmp_path / "traced" / f"{number}.pcapng")
        assert times == sorted(times), link
        assert len(times) == crossed[link] > 0, link
    assert results["traced"].digest == results["plain"].digest, "to be traced changes nothing"
