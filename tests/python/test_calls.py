"""Calls: the columns that show their quality."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

import forebay as fb
from forebay.display.summary import result_tables

CALL = """
duration = "60 s"
[topology.star]
access = { rate = "1 Gbps", delay = "1 ms" }
[topology.star.bottleneck]
rate = "10 Mbps"
delay = "10 ms"
queue = "drop_tail"
impairments.jitter = { uniform = ["0 ms", "20 ms"] }
[[flows]]
name = "call"
transport.udp.voice = {}
[[flows]]
name = "other"
transport.udp = { packet = "200 B", constant = { rate = "80 kbps" } }
"""
BUFFER = "flows.call.transport.udp.voice.jitter_buffer"


def test_late_packets_have_a_column_if_a_call_has_a_jitter_buffer() -> None:
    scenario = fb.Scenario.from_toml(CALL, "call.toml")
    plain, buffered = fb.run(scenario), fb.run(scenario, overrides={BUFFER: "15 ms"})
    assert "packets_late" not in plain.flows.columns
    late, delivered = buffered.flows.select("packets_late", "packets_delivered").row(0)
    # Of delays from 0 to 20 ms, a quarter exceeds 15 ms; the standard deviation of the share is 0.8 %.
    assert late / delivered == pytest.approx(0.25, abs=0.03)
    assert buffered.flows.item(1, "packets_late") == 0


def test_the_terminal_shows_the_share_of_late_packets(capsys: pytest.CaptureFixture[str]) -> None:
    result = fb.run(fb.Scenario.from_toml(CALL, "call.toml").override({BUFFER: "15 ms"}))
    late, delivered = result.flows.select("packets_late", "packets_delivered").row(0)
    Console(width=100).print(*result_tables(result.to_rows(series=False), 100), sep="\n")
    shown = capsys.readouterr().out
    assert re.search(r"MOS +late +lost", shown)
    assert re.search(rf"^call .* {100 * late / delivered:.2f} +0\.00 ", shown, re.MULTILINE)
    assert re.search(r"^other .* - +- +0\.00 ", shown, re.MULTILINE)
