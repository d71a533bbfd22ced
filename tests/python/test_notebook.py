"""The display of each result in a notebook: the terminal's tables, as safe HTML for light and dark pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

import forebay as fb
from forebay.display import folding, notebook
from test_sweep import SCENARIO

ROOT = Path(__file__).resolve().parents[2]
EVIL = "<script>alert(1)"
ALLOWED = {"b", "br", "code", "div", "pre", "span", "table", "tbody", "td", "th", "thead", "tr"}


class Tags(HTMLParser):
    """Collects the tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        # Cells and lines are words apart.
        self.text += " " if tag in ("br", "div", "td", "th") else ""

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
    assert page.tags <= ALLOWED
    words = re.sub(r"\s+", " ", page.text)
    for word in expected:
        assert word in words


def test_a_section_stands_above_all_of_its_columns() -> None:
    columns = [
        folding.Column("all\n%", ["1"], "Loss"),
        folding.Column("tcp\n%", ["2"], "Loss"),
        folding.Column("index\n", ["3"], "Fairness"),
    ]
    page = notebook.html(lambda width: folding.folded("queue", ["red"], columns, width))
    assert re.findall(r'<th colspan="(\d)"[^>]*>([^<]*)<', page) == [("2", "Loss"), ("1", "Fairness")]
    assert page.count("<th ") == 2 + 4
    numbers = re.findall(r'<td align="(\w+)"[^>]*>([^<]*)<', page)
    assert numbers == [("left", "red"), ("right", "1"), ("right", "2"), ("right", "3")]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("style", ["green", "red", "yellow", "cyan"])
def test_colours_are_legible_on_light_and_on_dark_pages(style: str) -> None:
    page = notebook.html(lambda _width: [Text("failed", style)])
    (colour,) = re.findall(r"color: (#\w{6})", page)
    for paper in ("#ffffff", "#111111"):
        lighter, darker = sorted((luminance(colour), luminance(paper)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 4
