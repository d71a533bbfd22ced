"""Comparisons that are finished: their page, and their tables once more."""

from __future__ import annotations

import dataclasses
import html
import json
import shlex
from pathlib import Path

import pytest

import forebay as fb
from conftest import SMALL, Command
from forebay.comparison.table import columns_of
from forebay.reporting.comparisons import comparison_section
from forebay.reporting.parts import Charts, Table

NAMES = ["drop_tail", "red"]


@pytest.fixture(scope="module")
def comparison() -> fb.Comparison:
    brief = {"duration": "2 s", "traces": [], "topology.star.bottleneck.queue": "drop_tail"}
    return fb.compare(fb.Scenario.from_toml(SMALL, "small.toml").override(brief), NAMES, seeds=2)


def test_the_page_says_how_to_repeat_it(comparison: fb.Comparison, forebay: Command, tmp_path: Path) -> None:
    comparison.save(tmp_path / "saved")
    repeat = comparison_section(comparison, tmp_path / "saved").repeat
    assert html.escape(repeat.split(" --seeds")[0]) in (tmp_path / "saved/compare.html").read_text(encoding="utf-8")
    assert forebay(*shlex.split(repeat.replace("\\\n", ""))[1:]).returncode == 0
    again = fb.Comparison.load(tmp_path / "again")
    machine = ["cpu_ns_per_packet"]
    assert again.table.drop(machine).equals(comparison.table.drop(machine))
    assert again.parameters == comparison.parameters


def test_a_finished_comparison_is_shown_again(comparison: fb.Comparison, forebay: Command, tmp_path: Path) -> None:
    comparison.save(tmp_path / "saved")
    files = {path: path.read_bytes() for path in (tmp_path / "saved").iterdir()}
    done = forebay("compare", "saved", env={"COLUMNS": "100"})
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in NAMES)
    assert json.loads(forebay("compare", "saved", "--json").stdout) == comparison.to_dict()
    for options in (("--out", "other"), ("--seeds", "2")):
        done = forebay("compare", "saved", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert "hint:" in done.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "saved").iterdir()} == files
    # A report accepts the folder, too.
    assert fb.report(tmp_path / "saved").is_file()


def test_the_page_has_mean_delay_and_jitter(comparison: fb.Comparison) -> None:
    parts = comparison_section(comparison).parts
    (table,) = [part for part in parts if isinstance(part, Table)]
    sections = [head.section for head in table.heads]
    assert {"Mean delay", "Jitter"} <= set(sections)
    titles = [chart.title for part in parts if isinstance(part, Charts) for chart in part.charts]
    assert {"Mean delay", "Jitter"} <= set(titles)


def test_means_over_several_queues_are_called_so(comparison: fb.Comparison) -> None:
    together = dataclasses.replace(comparison, several_queues=True)
    assert "Mean of all ports" in {column.section for column in columns_of(together, every=False)}
    assert "Mean utilization of all ports" in together.to_html()
    assert "Utilization:" not in together.to_html()
    assert "mean of all ports" in together.to_markdown()
    assert together.plot().axes[4].get_xlabel() == "% mean of all ports"


def test_another_place_is_part_of_the_command(comparison: fb.Comparison) -> None:
    elsewhere = dataclasses.replace(comparison, at="topology.star.reverse.queue")
    assert "compare scenario.toml --at topology.star.reverse.queue --seeds 2" in comparison_section(elsewhere).repeat
    assert "--at" not in comparison_section(comparison).repeat
