"""The data plane with real traffic between network namespaces, in a form that takes seconds: see tests/live."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.live import report
from tests.live.outcome import Options, Outcome

ROOT = Path(__file__).resolve().parents[2]
BINARY = ROOT / "target/release/forebay-live"
SKIPPED = "skipped: "

# Namespaces and cores are shared: these run one after the other.
pytestmark = pytest.mark.xdist_group("live-data-plane")


def run_live(arguments: Sequence[str], seconds: float) -> str:
    """Run parts in their short form and return what they print; skips where this machine cannot."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    if not BINARY.exists():
        pytest.skip("forebay-live is not built: make live-test builds it")
    command = [sys.executable, "-m", "tests.live.run", "--quick", *arguments]
    env = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=seconds)
    for line in done.stdout.splitlines():
        if line.startswith(SKIPPED):
            pytest.skip(line.removeprefix(SKIPPED))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_bad_inputs_are_refused_and_touch_nothing() -> None:
    assert "FAILS" not in run_live(["inputs"], 60)


def test_counters_add_up_and_changes_lose_nothing() -> None:
    assert "FAILS" not in run_live(["conservation", "--scale", "0.1"], 60)


def test_hostile_frames_pass_or_are_refused() -> None:
    assert "FAILS" not in run_live(["hostile", "--scale", "0.1"], 60)


def test_traffic_flows_again_after_kill() -> None:
    assert "FAILS" not in run_live(["failover", "--scale", "0.34"], 60)


def test_the_page_never_shows_the_short_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RESULTS", "SHORT_RESULTS", "PAGE"):
        monkeypatch.setattr(report, name, tmp_path / name)
    for options in (Options(quick=False, seed=1), Options(quick=True, seed=1), Options(False, seed=1, scale=0.5)):
        report.save(Outcome("speed", notes=[f"{options}"]), options.short)
    assert f"- {Options(quick=False, seed=1)}\n" in report.write().read_text()
