"""What a notebook shows of each result: the terminal's tables, as HTML that is safe to look at."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import forebay as fb
from test_sweep import SCENARIO

ROOT = Path(__file__).resolve().parents[2]
EVIL = "<script>alert(1)"


class Tags(HTMLParser):
    """Collects the tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def scenario() -> fb.Scenario:
    return fb.Scenario.from_toml(SCENARIO, "office.toml").override({"name": f'"{EVIL}"'})


def sweeps(folder: Path) -> fb.PairedDifferences:
    for name in ("one", "two"):
        fb.sweep(scenario(), {"flows.tcp.count": [1, 2]}, seeds=2, out=folder / name)
    return fb.compare_sweeps(folder / "one", folder / "two")


SHOWN: dict[str, tuple[Callable[[Path], Any], list[str]]] = {
    "scenario": (lambda _: scenario(), ["3 flows", "drop_tail", "limit"]),
    "result": (lambda _: fb.run(scenario()), ["Queues", "bottleneck", "flood"]),
    "comparison": (lambda _: fb.compare(scenario(), "red,drop_tail", seeds=2), ["red", "Jain's index", "±"]),
    "sweep": (lambda _: fb.sweep(scenario(), {"flows.tcp.count": [1, 2]}, seeds=2), ["2 points", "count", "±"]),
    "paired": (sweeps, ["2 pairs of runs"]),
    "buffer": (
        lambda _: fb.size_buffer(scenario(), target_utilization=0.5, most=60, seeds=2),
        ["link used", "packets"],
    ),
    "replay": (
        lambda _: fb.replay(ROOT / "examples/belligerent.pcap.gz", rate="20Mbps", queue="dbl"),
        ["dropped", "dbl"],
    ),
}


@pytest.mark.parametrize(("make", "expected"), SHOWN.values(), ids=SHOWN)
def test_a_notebook_shows_the_tables(make: Callable[[Path], Any], expected: list[str], tmp_path: Path) -> None:
    page = Tags(make(tmp_path)._repr_html_())
    assert page.tags <= {"pre", "span", "a"}
    words = re.sub(r"\s+", " ", page.text)
    for word in expected:
        assert word in words
