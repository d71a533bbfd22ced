"""Names that are not UTF-8 and a lack of memory: each has a message of its own and is no fault of the program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import forebay as fb
from conftest import SMALL
from forebay.folder import staged
from forebay.runs.faults import lacks_memory
from test_sweep import SCENARIO

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has such names and limits")

NAME = b"caf\xe9"


def call(folder: bytes, *words: str | bytes) -> subprocess.CompletedProcess[bytes]:
    command = [os.fsencode(sys.executable), b"-m", b"forebay", *(os.fsencode(word) for word in words)]
    return subprocess.run(command, capture_output=True, check=False, cwd=folder, timeout=120)


@pytest.mark.parametrize(
    "words",
    [
        ["run", NAME + b".toml"],
        ["run", "small.toml", "--out", NAME],
        ["sweep", NAME + b".toml", "--vary", "flows.tcp.count=1"],
        ["compare", NAME + b".toml"],
        ["compare", "small.toml", "--settings", NAME],
        ["plot", NAME],
        ["report", NAME],
        ["report", "small", "--out", NAME + b".html"],
        ["replay", NAME, "--rate", "1 Mbps", "--queue", "red"],
        ["reproduce", NAME + b".toml"],
        ["size-buffer", NAME + b".toml", "--target-utilization", "0.9"],
        ["run", "small.toml", "--set", b"name=" + NAME],
        ["explain", NAME],
    ],
)
def test_a_name_that_is_not_utf_8_is_refused_by_every_command(tmp_path: Path, words: list[str | bytes]) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + NAME + b".toml")).write_text(SMALL)
    done = call(os.fsencode(tmp_path), *words)
    assert done.returncode == 2
    said = done.stderr.decode().splitlines()
    assert len(said) == 2
    assert said[0].startswith("error: the argument ")
    assert "caf\\xe9" in said[0]
    assert said[1] == "hint: rename it, or use another path"
    assert done.stdout == b""


def test_a_current_folder_that_is_not_utf_8_is_no_fault_of_the_program(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/" + NAME
    Path(os.fsdecode(folder)).mkdir()
    Path(os.fsdecode(folder + b"/small.toml")).write_text(SMALL)
    done = call(folder, "run", "small.toml", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    for words in (["plot", "out"], ["report", "out"], ["report", "."], ["compare", "out"]):
        done = call(folder, *words)
        assert done.returncode in (0, 2), done.stderr
        assert b"fault in Forebay" not in done.stderr
        assert b"Traceback" not in done.stderr


def test_python_refuses_such_names_too(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + NAME))
    with pytest.raises(fb.InputError, match="not UTF-8"):
        fb.Scenario.load(path)
    with pytest.raises(fb.InputError, match="not UTF-8"):
        fb.run(fb.Scenario.from_toml(SMALL, "small.toml"), out=path)
    with pytest.raises(fb.InputError, match="not UTF-8"), staged(path):
        pass


LIMITED = """
import resource, runpy, sys
from pathlib import Path
import numpy, polars, rich.progress, scipy.special, forebay.cli.app

# Some libraries hang or abort if they lack memory while they are loaded.
polars.DataFrame({"a": [1]}).write_parquet("first.parquet")
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[1]) * 1_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.argv[1:2] = []
runpy.run_module("forebay", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("megabytes", [20, 70, 250])
def test_a_sweep_under_a_memory_limit_says_so(tmp_path: Path, megabytes: int) -> None:
    (tmp_path / "office.toml").write_text(SCENARIO)
    words = ["sweep", "office.toml", "--vary", "flows.tcp.count=1,2", "--seeds", "10", "--jobs", "100", "--out", "out"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(megabytes), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=120,
    )
    assert "fault in Forebay" not in done.stderr
    assert "Traceback" not in done.stderr
    # Rust ends the process by itself, in these words.
    if done.returncode != 0 and "memory allocation of" not in done.stderr:
        assert done.returncode in (1, 2)
        said = " ".join((done.stderr + done.stdout).split())
        # A run that starts while others take the memory is refused by its estimate.
        assert "there is not enough memory" in said or re.search("needs about .* of memory, and .* is available", said)


@pytest.mark.parametrize(
    ("error", "lacking"),
    [
        (MemoryError(), True),
        (ImportError("libblas.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (ImportError("No module named 'polars'"), False),
        (OSError(2, "No such file or directory"), False),
        (ValueError("cannot allocate memory"), False),
    ],
)
def test_what_says_that_memory_ran_out(error: Exception, lacking: bool) -> None:
    assert lacks_memory(error) is lacking
    outer = RuntimeError("the run failed")
    outer.__cause__ = error
    assert lacks_memory(outer) is lacking
