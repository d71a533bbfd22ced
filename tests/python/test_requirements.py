"""The locked requirements, and the check of advisories."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
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


ONLY_THESE = """
import sys
from importlib.metadata import packages_distributions

homes, listed = packages_distributions(), set(sys.argv.pop(1).split())

class OnlyThese:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        owners = {owner.lower().replace("_", "-") for owner in homes.get(name.partition(".")[0], [])}
        return None if owners and not listed & owners else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(OnlyThese, sys.meta_path)
from forebay.__main__ import main
main()
"""


def test_the_demo_runs_with_the_packages_that_make_installs_for_it(tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    listed = re.search(r"^DEMO_PACKAGES := (.*)$", makefile, re.MULTILINE)
    assert listed
    assert set(listed[1].split()) <= requirements().keys()
    words = ["reproduce", "dbl/fig4", "--quick", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path)]
    command = [sys.executable, "-c", ONLY_THESE, f"forebay {listed[1]}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*.png"))


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
