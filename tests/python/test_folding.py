"""Tables on narrow terminals: names stay, columns go below or are named as left out."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

import forebay as fb
from forebay.display.folding import Column, folded, shortened
from forebay.display.summary import result_tables

COLUMNS = [
    Column("kind", ["tcp", "udp"], rank=2, is_text=True),
    Column("goodput\nMb/s", ["12.34", "0.001"]),
    Column("dropped\npackets", ["1,234,567", "0"], rank=1),
    Column("delay p99\nms", ["86.97", "-"]),
]


def printed(parts: list[RenderableType], width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(*parts, sep="\n")
    return console.export_text()


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize(
    "names", [["alpha", "beta"], ["10.0.0.1:5000 > 198.51.100.200:443 tcp", "10.0.0.1:5001 > 198.51.100.200:443 tcp"]]
)
def test_every_table_has_every_name_and_fits(names: list[str], width: int) -> None:
    text = printed(folded("flow", names, COLUMNS, width, title="Flows"), width)
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    tables = len(re.findall("^flow", text, re.MULTILINE))
    if max(map(len, names)) + 12 < width:
        assert all(text.count(name) == tables for name in names)
    for cell in ("12.34", "0.001", "86.97"):
        assert cell in text


def test_columns_go_before_names_and_are_named() -> None:
    names = ["x" * 50 + "-1", "x" * 50 + "-2"]
    text = printed(folded("flow", names, COLUMNS, 66, most_tables=2), 66)
    assert all(text.count(name) == 2 for name in names)
    assert "1,234,567" not in text
    assert "kind, dropped: left out, too wide for the terminal" in text
    assert "--json" in text
    wide = printed(folded("flow", names, COLUMNS, 120, most_tables=2), 120)
    assert "left out" not in wide
    assert "1,234,567" in wide


def test_names_that_do_not_fit_lose_their_middle_and_stay_different() -> None:
    prefix = "2001:db8:85a3:0000:0000:8a2e:0370:7334."
    names = [f"{prefix}{port} > 2001:db8:85a3:0000:0000:8a2e:0370:1.443" for port in (50_001, 50_002)]
    for width in (30, 50, 70):
        short = shortened(names, width)
        assert len(set(short)) == 2
    assert all(len(name) <= 70 and name.endswith(".443") for name in shortened(names, 70))
    assert shortened(["short", "flow-" + "y" * 50 + "-17"], 20) == ["short", "flow-yyyy…yyyyyyy-17"]
    # Names that no cut distinguishes are broken into lines, and nothing of them is lost.
    hard = ["a" * 20 + str(number) + "b" * 20 for number in range(10)]
    assert shortened(hard, 9) == hard
    text = printed(folded("flow", hard, [Column("n", ["1"] * 10)], 16), 16)
    assert "…" not in text
    letters = re.sub(r"[^ab0-9]", "", text)
    assert all(f"a{number}" in letters for number in range(10))


def test_sections_stay_together_and_markup_is_text() -> None:
    columns = [Column("p50", ["1"], "Delay"), Column("p99", ["2"], "Delay"), Column("all", ["3"], "Loss")]
    text = printed(folded("queue", ["[red]x[/]"], columns, 24), 24)
    assert text.count("[red]x[/]") == 2
    assert text.count("Delay") == 1


def document(group: str, count: int) -> dict[str, Any]:
    scenario = fb.Scenario.from_toml(f"""
        duration = "2 s"
        [topology.star]
        access = {{ rate = "100 Mbps", delay = "1 ms" }}
        bottleneck = {{ rate = "10 Mbps", delay = "5 ms", queue.fq_codel = {{}} }}
        [[flows]]
        name = "{group}"
        count = {count}
        transport = "tcp"
        [[flows]]
        name = "flood"
        transport.udp = {{ packet = "1000 B", constant = {{ rate = "12 Mbps" }} }}
    """)
    return fb.run(scenario).to_dict()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    "group", ["tcp", "downloads-from-the-mirror-in-the-east-wing-of-the-laboratory", "x" * 90 + "-end"]
)
def test_a_run_shows_each_flow_and_each_groups_delay(group: str, width: int) -> None:
    result = document(group, 3)
    text = printed(result_tables(result, width), width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    for number in range(3):
        assert re.search(rf"^\S+-{number} ", text, re.MULTILINE)
    groups = text[: text.index("Flows")]
    assert "delay p99" in groups
    waits = {row["name"]: row["delay_p99_s"] for row in result["flows"]}
    assert f" {waits['flood']:.4g}" in groups


def test_of_many_flows_the_group_is_shown() -> None:
    text = printed(result_tables(document("tcp", 25), 200), 200)
    assert "tcp-7" not in text
    assert re.search(r"^tcp +tcp +25 +[\d.]+ +[01]\.\d{3} ", text, re.MULTILINE)
    assert re.search(r"^flood +udp +1 +[\d.]+ +- ", text, re.MULTILINE)
    assert "and 25 more flows, which --all shows" in text
