"""The locked requirements, and the check of advisories."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements() -> dict[str, str]:
    """The text of each locked requirement, by its name."""
    lines = "\n".join(line for line in LOCK.splitlines() if not line.startswith("#"))
    entries = lines.replace("\\\n", " ").splitlines()
    return {plain(entry.partition("==")[0]): entry for entry in entries}


def test_every_requirement_is_pinned_by_version_and_hash() -> None:
    found = requirements()
    assert len(found) > 100
    for entry in found.values():
        assert re.fullmatch(r"[A-Za-z0-9._-]+==\S+( +--hash=sha256:[0-9a-f]{64})+ *", entry), entry


def test_the_lock_names_no_registry() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^\s*(-i|-f|--index|--extra|--find|--trusted)", LOCK, re.MULTILINE)


def test_the_lock_has_what_the_project_and_its_extras_need() -> None:
    project = PROJECT["project"]
    needed = [*project["dependencies"], *PROJECT["dependency-groups"]["dev"], *PROJECT["build-system"]["requires"]]
    needed += [one for extra in project["optional-dependencies"].values() for one in extra]
    names = {plain(re.split(r"[<>=\[ ]", one)[0]) for one in needed}
    assert names <= requirements().keys()


def test_make_installs_only_files_of_these_hashes() -> None:
    installs = [line for line in (ROOT / "Makefile").read_text().splitlines() if "requirements-dev.lock" in line]
    assert any("pip install" in line for line in installs)
    assert all("--require-hashes" in line for line in installs if "pip install" in line)


DENY = """#!/bin/sh
echo "deny $*"
[ "$1" != fetch ] || { echo "[ERROR] cannot fetch" >&2; echo "no route to the database" >&2; exit 1; }
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("reachable", [True, False])
def test_audit_checks_advisories_where_it_can_and_says_so_where_not(tmp_path: Path, reachable: bool) -> None:
    tool = tmp_path / "cargo-deny"
    tool.write_text(DENY.replace("exit 1", "exit 0") if reachable else DENY)
    tool.chmod(0o755)
    words = ["make", "--no-print-directory", "-o", ".venv/.installed", "audit", f"CARGO_DENY={tool}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    if reachable:
        assert done.stdout == "deny check\n"
    else:
        said = done.stdout.splitlines()
        assert said[0].startswith("skipped: the advisory database cannot be reached")
        assert said[1:] == ["no route to the database", "deny --log-level error check bans licenses sources"]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_audit_fails_for_an_advisory(tmp_path: Path) -> None:
    tool = tmp_path / "cargo-deny"
    tool.write_text('#!/bin/sh\n[ "$1" = fetch ]\n')
    tool.chmod(0o755)
    words = ["make", "--no-print-directory", "-o", ".venv/.installed", "audit", f"CARGO_DENY={tool}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
    assert done.returncode != 0
