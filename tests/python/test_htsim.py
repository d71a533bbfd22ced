"""`forebay scenario --from-htsim`: runs of htsim as scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

import forebay as fb
from conftest import Command

INCAST = "Nodes 16\nConnections 15\n" + "".join(f"{host}->15 start 0 size 2000000\n" for host in range(15))
TOPOLOGY = """\
Nodes 16
Tiers 2
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "incast.cm").write_text(INCAST, encoding="utf-8")
    (tmp_path / "net.topo").write_text(TOPOLOGY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_incast_of_htsim_runs_and_has_the_published_time(forebay: Command, files: Path) -> None:
    done = forebay("scenario", "--from-htsim", "incast.cm", "--", "-sender_cc_only", "-end", "3000")
    assert (done.returncode, done.stderr) == (0, "")
    (files / "incast.toml").write_text(done.stdout, encoding="utf-8")
    last = fb.run(files / "incast.toml").flows["fct_s"].max()
    assert isinstance(last, float)
    assert last == pytest.approx(2478.53e-6, rel=0.02)


@pytest.mark.parametrize(
    "arguments",
    [("net.topo", "--", "-paths 128 -end 3000"), ("--", "-paths", "128", "-topo", "net.topo", "-end", "3000")],
)
def test_the_topology_comes_first_or_among_the_options(
    forebay: Command, files: Path, arguments: tuple[str, ...]
) -> None:
    assert files.is_dir()
    done = forebay("scenario", "--from-htsim", "incast.cm", *arguments)
    assert done.returncode == 0, done.stderr
    assert "leaves = 4\nspines = 4\nhosts = 4\n" in done.stdout
    assert "paths = 128" in done.stdout
    first = "# The run of htsim_uec with incast.cm over net.topo; options: -paths 128 -end 3000\n"
    assert done.stdout.startswith(first)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to translate"),
        (("--from-tc", "x", "--from-htsim", "incast.cm"), "two sources at once"),
        (("--from-htsim", "missing.cm"), "cannot read missing.cm: No such file"),
        (("--from-htsim", "incast.cm", "--dev", "eth0"), "--dev has no effect"),
        (("--from-htsim", "incast.cm", "--", "-strat", "ecmp_ar"), "`-strat ecmp_ar` has no counterpart"),
        (("--from-htsim", "incast.cm", "--", "-sender_cc_onyl"), "did you mean `-sender_cc_only`?"),
        (("--from-htsim", "net.topo"), "Tiers 2"),
        (("--from-htsim", "incast.cm", "incast.cm"), "unknown name `Connections`"),
    ],
)
def test_mistakes_are_named(forebay: Command, files: Path, arguments: tuple[str, ...], message: str) -> None:
    assert files.is_dir()
    done = forebay("scenario", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
