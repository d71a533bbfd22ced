"""Hints for misspelt names, ranges and values without quotes."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay as fb
from conftest import Command
from forebay.display.names import listed, remedy_for

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
def test_a_name_of_linux_gets_its_counterpart_and_is_no_misspelt_one(
    forebay: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    star = tmp_path / "star.toml"
    star.write_text(STAR, encoding="utf-8")
    arguments = {
        "explain": ("explain", "hfsc"),
        "compare": ("compare", star, "--queues", "hfsc", "--out", tmp_path / "out"),
        "run": ("run", star, "--set", "topology.star.bottleneck.queue=hfsc"),
    }[command[0]]
    done = forebay(*arguments)
    assert done.returncode == 2
    assert "`cbq` has classes with shares" in done.stderr
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


def _row_of_routers(queues: int = 8) -> str:
    """So many queues in a row: `r1->r2` and on."""
    routers = [f'{{ name = "r{n}", kind = "router" }}' for n in range(1, queues + 2)]
    nodes = ['{ name = "a" }', '{ name = "z" }', *routers]
    link = '{{ from = "{}", to = "{}", rate = "10 Mbps", delay = "1 ms"{} }}'
    ends = [link.format("a", "r1", ""), link.format(f"r{queues + 1}", "z", "")]
    row = [link.format(f"r{n}", f"r{n + 1}", ', queue = "red"') for n in range(1, queues + 1)]
    flow = '[[flows]]\nname = "f"\nfrom = "a"\nto = "z"\ntransport = "tcp"\n'
    graph = f"nodes = [{', '.join(nodes)}]\nlinks = [{', '.join(ends + row)}]"
    return f'duration = "1 s"\n[topology.graph]\n{graph}\n{flow}'


@pytest.mark.parametrize("asked", [[], ["--at", "topology.graph.links.r8-r9.queue"]])
def test_a_graph_names_its_queues_as_the_option_takes_them(forebay: Command, tmp_path: Path, asked: list[str]) -> None:
    file, out = tmp_path / "row.toml", tmp_path / "out"
    file.write_text(_row_of_routers(), encoding="utf-8")
    done = forebay("compare", file, "--queues", "red", "--out", out, *asked)
    assert done.returncode == 2
    assert "'topology.graph.links.r8->r9.queue'" in done.stderr
    assert "topology.graph.links.r1->r2.queue" in done.stderr
    chosen = "topology.graph.links.r8->r9.queue"
    assert forebay("compare", file, "--queues", "red", "--seeds", "1", "--out", out, "--at", chosen).returncode == 0


@pytest.mark.parametrize(
    ("valid", "mistake", "hint"),
    [
        ('queue = "drop_tail"', 'queue = "drop_tail", limit = "9 packets"', "it is a parameter of a discipline"),
        ("rate =", "bandwidth =", "a link has a `rate`"),
        ("[[flows]]", "[flows]", "begin each with `[[flows]]`"),
        ("transport.udp = {", 'transport.udp = { rate = "1 Mbps",', "the pattern of a source has a rate"),
        ('name = "voice"', 'name = "voice"\nrtt = "10 ms"', "a round trip takes twice the sum"),
        ('name = "voice"', "name = \u201cvoice\u201d", "quotes must be straight"),
        ('name = "voice"', 'name = "voice"\necn = True', "expected true"),
        ("transport.udp =", 'transport = "cubic"  # ', "it is a controller of TCP"),
        ("transport.udp =", 'transport.tcp.congestion_control = "htcp"  # ', "not implemented: `cubic`"),
    ],
)
def test_a_newcomer_is_shown_where_it_belongs(valid: str, mistake: str, hint: str) -> None:
    with pytest.raises(fb.ScenarioError) as caught:
        fb.Scenario.from_toml(STAR.replace(valid, mistake, 1))
    assert hint in " ".join(str(caught.value).split())


def test_a_queue_to_size_is_found_among_many(forebay: Command, tmp_path: Path) -> None:
    file = tmp_path / "row.toml"
    file.write_text(_row_of_routers(40), encoding="utf-8")
    done = forebay("size-buffer", file, "--target-utilization", "0.8", "--queue", "r33-r34", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "say which: --queue 'r33->r34' or " in done.stderr
    assert "or one of 28 more" in done.stderr
