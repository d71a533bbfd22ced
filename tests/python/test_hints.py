"""Hints for misspelt names, ranges and values without quotes."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay as fb
from conftest import Command
from forebay.names import listed, remedy_for

STAR = """
duration = "20 ms"
[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "100 Mbps", delay = "1 ms", queue = "drop_tail" }
[[flows]]
name = "voice"
transport.udp = { packet = "200 B", constant = { rate = "64 kbps" } }
"""


@pytest.mark.parametrize("command", [("explain",), ("compare", "star"), ("run", "star")])
def test_cake_is_named_as_missing_and_no_misspelt_choke(
    forebay: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    star = tmp_path / "star.toml"
    star.write_text(STAR, encoding="utf-8")
    arguments = {
        "explain": ("explain", "cake"),
        "compare": ("compare", star, "--queues", "cake", "--out", tmp_path / "out"),
        "run": ("run", star, "--set", "topology.star.bottleneck.queue=cake"),
    }[command[0]]
    done = forebay(*arguments)
    assert done.returncode == 2
    assert "CAKE is not implemented" in done.stderr
    assert "did you mean" not in done.stderr


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    assert remedy_for("fq-codle", ["fq_codel", "codel", "red"]) == "did you mean fq_codel?"
    assert remedy_for("xyz", ["fq_codel", "red"]) == "there are fq_codel, red"


def test_a_long_list_counts_what_it_leaves_out_and_begins_with_what_is_alike() -> None:
    names = [f"port-{number}" for number in range(40)]
    assert listed(names[:13]).endswith("port-12")
    assert listed(names).endswith("port-11 and 28 more")
    assert listed(names, "port-33").startswith("port-33")
    assert listed([*names, "core"], "cor").startswith("core")


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("1..8", "lin:1:8:8"),
        ("1...8", "lin:1:8:8"),
        ("1:8", "lin:1:8:8"),
        ("1-8", "lin:1:8:8"),
        ("1 to 8", "lin:1:8:8"),
        ("1..1000", "lin:1:1000:5"),
        ("1..8 Mbps", "lin:1:8 Mbps:5"),
        ("0.1..0.9", "lin:0.1:0.9:5"),
    ],
)
def test_a_range_of_another_notation_is_answered_with_ours(tmp_path: Path, written: str, hint: str) -> None:
    star = tmp_path / "star.toml"
    star.write_text(STAR, encoding="utf-8")
    with pytest.raises(fb.InputError, match=f"a range is written {hint}$"):
        fb.sweep(fb.Scenario.load(star), {"flows.voice.count": written})


def test_the_suggested_range_is_what_was_meant(tmp_path: Path) -> None:
    star = tmp_path / "star.toml"
    star.write_text(STAR, encoding="utf-8")
    sweep = fb.sweep(fb.Scenario.load(star), {"flows.voice.count": "lin:1:8:8"}, seeds=1)
    assert sweep.points["flows.voice.count"].to_list() == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("text", ["-1", "1e-3", "2,3", "10-20-30", "red", "1..", "2026-11-25"])
def test_values_are_not_taken_for_ranges(text: str) -> None:
    from forebay.sweeps.axes import Axis, parse_axes

    (axis,) = parse_axes({"key": text}, lambda _: None)
    assert isinstance(axis, Axis)
