"""The shell's completions, requested like Bash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import forebay as fb
from forebay.cli.catalogue import Kind, entries

ROOT = Path(__file__).resolve().parents[2]
FIRST = str(ROOT / "examples/first.toml")


def proposed(*words: str) -> list[str]:
    """The completions for Bash while the last of these words is typed."""
    line = " ".join(["forebay", *words])
    asked = {"_FOREBAY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    forebay = Path(sys.executable).with_name("forebay")
    done = subprocess.run([forebay], env=os.environ | asked, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_keys_follow_the_schema_and_the_scenario_s_own_names() -> None:
    assert proposed("sweep", FIRST, "--vary", "flows.") == ["flows.tcp.", "flows.flood."]
    assert {"flows.tcp.count=", "flows.tcp.transport."} <= set(proposed("sweep", FIRST, "--vary", "flows.tcp."))
    assert proposed("run", FIRST, "--set", "topology.star.bottleneck.ra") == ["topology.star.bottleneck.rate="]
    assert proposed("run", FIRST, "--set", "dur") == ["duration="]
    assert proposed("run", FIRST, "--set", "no.such.key") == []
    assert proposed("run", "absent.toml", "--set", "flows.") == []


def test_values_that_have_names_are_proposed() -> None:
    key = "topology.star.bottleneck.queue.red.gentle="
    assert proposed("run", FIRST, "--set", key) == [f"{key}true", f"{key}false"]


@pytest.mark.parametrize("key", proposed("run", FIRST, "--set", "topology.star.bottleneck.queue."))
def test_what_is_proposed_for_a_queue_is_a_discipline(key: str) -> None:
    assert key.rstrip(".").rpartition(".")[2] in {entry["name"] for entry in entries(Kind.disciplines)}


def test_names_of_disciplines_experiments_metrics() -> None:
    assert proposed("compare", FIRST, "--queue", "red,sfq") == ["red,sfq", "red,sfq_red"]
    assert proposed("reproduce", "e2")[0] == "e2cm"
    assert "dbl/table2" in proposed("reproduce", "dbl/")
    assert proposed("explain", "isl") == ["islip"]
    swept = fb.sweep(FIRST, {}, seeds=2, overrides={"duration": "100 ms", "warmup": "0 s"})
    for_groups = proposed("sweep", FIRST, "--until", "tcp.")
    assert for_groups
    assert set(for_groups) >= {name for name in swept.metrics if name.startswith("tcp.")}
