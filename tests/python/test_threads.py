"""Several threads within a run: the same results, and one clear error where there cannot be several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forebay as fb
from conftest import Command
from forebay import InputError

# Two stages that channels of 10 ms join: the hosts, and the bottleneck. Thousands of packets cross it in that time.
STAR = """
duration = "300 ms"

[topology.star]
access = { rate = "2 Gbps", delay = "10 ms" }
bottleneck = { rate = "10 Gbps", delay = "10 ms", queue = "red" }

[[flows]]
name = "tcp"
count = 8
transport = "tcp"
start = { uniform = ["0 s", "100 ms"] }
"""


@pytest.fixture
def star(tmp_path: Path) -> Path:
    path = tmp_path / "star.toml"
    path.write_text(STAR)
    return path


def test_results_do_not_depend_on_the_number_of_threads(star: Path) -> None:
    alone, two, most = (fb.run(star, threads=threads) for threads in (1, 2, 64))
    assert alone.digest == two.digest == most.digest
    assert (alone.engine.threads, two.engine.threads) == (1, 2)
    assert most.engine.threads >= 2


def test_a_network_that_would_be_slower_on_two_threads_has_one(star: Path) -> None:
    slow = fb.run(star, threads=2, overrides={"topology.star.bottleneck.rate": "50 Mbps"})
    assert slow.engine.threads == 1


def test_the_command_takes_a_number_of_threads(forebay: Command, star: Path) -> None:
    results = [json.loads(forebay("run", star, "--threads", threads, "--json").stdout) for threads in ("1", "2")]
    assert [result["engine"]["threads"] for result in results] == [1, 2]
    assert results[0]["digest"] == results[1]["digest"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--threads", "0"), "threads: must be from 1 to"),
        (("--threads", "two"), "--threads"),
        (("--threads", "2", "--seeds", "3"), "--seeds has one thread for each run"),
    ],
)
def test_what_cannot_be_is_refused(forebay: Command, star: Path, words: tuple[str, ...], message: str) -> None:
    done = forebay("run", star, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_python_disciplines_run_on_one_thread(star: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    law = "class Open(fb.AdmissionLaw):\n    def admit(self, arrival, now_s):\n        return True\n"
    (tmp_path / "laws.py").write_text(f"import forebay as fb\n\n\n{law}")
    monkeypatch.syspath_prepend(tmp_path)
    scenario = fb.Scenario.load(
        star, overrides={"topology.star.bottleneck.queue": {"python": "laws:Open"}}, allow_python=True
    )
    with pytest.raises(InputError, match="runs on one thread"):
        fb.run(scenario, threads=2)
