"""The findings of `make cross` in the digests of builds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from forebay import _core

SCRIPT = Path(__file__).parents[1] / "cross" / "run.py"


@pytest.fixture
def cross(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("cross", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Where a dataclass looks up its module.
    monkeypatch.setitem(sys.modules, "cross", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "other_build", lambda: "it is not installed")
    return module


def test_a_difference_anywhere_in_a_digest_is_one(
    cross: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = {"a": "0123456789", "b": "abcdef"}
    monkeypatch.setattr(cross, "digests", lambda _: digests)
    assert cross.main() == 0
    assert "2 runs in 3 builds: all equal\nskipped: " in capsys.readouterr().out
    other = digests | {"a": "012345678x"}
    monkeypatch.setattr(cross, "digests", lambda build: other if build.name == "native" else digests)
    assert cross.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "01234567  01234567  01234567  a DIFFERS"
    assert "2 runs in 3 builds: 1 differ" in lines


def test_a_run_that_is_missing_is_a_difference(cross: ModuleType) -> None:
    lines, differing = cross.table({"debug": {"a": "1"}, "release": {"a": "1", "b": "2"}})
    assert (lines[2:], differing) == (["none      2         b DIFFERS"], 1)


def test_every_file_is_there(cross: ModuleType) -> None:
    assert [run.file for run in cross.RUNS if not (cross.ROOT / run.file).is_file()] == []


def test_everything_that_has_defaults_is_run(cross: ModuleType) -> None:
    varied = {run.values: run.arguments()[1].split("=")[1].split(",") for run in cross.RUNS if run.key is not None}
    for kind in ("disciplines", "schedulers", "schemes"):
        chosen = {choice["name"] for choice in _core.choices() if choice["kind"] == kind.removesuffix("s")}
        assert chosen == {*varied[kind]} | (chosen & cross.WITHOUT_DEFAULTS), kind
