"""Disks that are full, and what killed calls leave: no traceback, nothing half-written, nothing of others touched."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import polars as pl
import pytest
import tomli_w

import forebay as fb
from conftest import Command
from experiment_samples import SCENARIO
from forebay.folder import PARTIAL, begun, put, staged, sweep
from forebay.runs.job import Job
from forebay.runs.outcome import Outcome
from forebay.runs.store import Store
from forebay.storage.stored import write_frame

# A file may have this many bytes: less than any figure or table of results, more than what is written before the runs.
LIMIT = 4000

EXPERIMENT = {
    "id": "sample/small",
    "title": "A sample",
    "paper": "None",
    "where": "Table 1",
    "seeds": 1,
    "scenario": {
        **SCENARIO,
        "duration": "100 ms",
        "topology": {
            "star": {
                "access": {"rate": "10 Mbps", "delay": "1 ms"},
                "bottleneck": {"rate": "1 Mbps", "delay": "1 ms", "queue": "drop_tail"},
            }
        },
        "flows": [{"name": "tcp", "count": 2, "transport": "tcp"}],
    },
    "variants": [{"name": "A", "set": {}}],
    "metrics": {"tcp": {"kind": "column", "group": "tcp", "column": "goodput_bps", "unit": "Mb/s"}},
    "tables": [{"title": "Goodput of all", "columns": [{"label": "tcp", "metric": "tcp"}]}],
    "figures": [
        {"file": "bars", "title": "t", "kind": "bars", "y_label": "y", "table": "Goodput of all"},
    ],
    "claims": [],
}


def on_a_full_disk(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command where no file can be longer than LIMIT."""

    def no_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))

    command = [sys.executable, "-m", "forebay", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, preexec_fn=no_room, timeout=300
    )


def partial(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if "partial" in path.name]


def assert_one_error(done: subprocess.CompletedProcess[str], place: str) -> None:
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if line.startswith("error:")] == [
        f"error: cannot write to the folder {place}: File too large"
    ]
    for word in ("Traceback", "fault in Forebay", "ignored"):
        assert word not in done.stderr


def test_a_frame_names_the_error_of_the_system_wherever_the_file_ends(tmp_path: Path) -> None:
    frame = pl.DataFrame({f"column_{number}": [float(number)] * 5 for number in range(20)})
    write_frame(frame, tmp_path / "whole.parquet")
    size = (tmp_path / "whole.parquet").stat().st_size
    program = f"""if True:
        import resource, signal
        from pathlib import Path
        import polars as pl
        from forebay.storage.stored import write_frame
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        frame = pl.DataFrame({{f"column_{{number}}": [float(number)] * 5 for number in range(20)}})
        for limit in range(1, {size}, 37):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            try:
                write_frame(frame, Path("cut.parquet"))
            except (OSError, pl.exceptions.ComputeError) as error:
                assert "File too large" in str(error), error
            else:
                raise AssertionError(limit)
            Path("cut.parquet").unlink()
        """
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_a_run_whose_trace_cannot_be_written_leaves_nothing(small_file: Path, tmp_path: Path) -> None:
    done = on_a_full_disk(tmp_path, "run", small_file, "--out", "new/out")
    assert_one_error(done, "new/out")
    assert not (tmp_path / "new").exists()


def test_a_run_that_cannot_be_saved_is_printed_and_leaves_nothing(small_file: Path, tmp_path: Path) -> None:
    small = tomllib.loads(small_file.read_text(encoding="utf-8"))
    small.pop("traces")
    small_file.write_text(tomli_w.dumps(small), encoding="utf-8")
    done = on_a_full_disk(tmp_path, "run", small_file, "--out", "new/out")
    assert_one_error(done, "new/out")
    assert "digest" in done.stdout
    assert "written to" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_comparison_that_cannot_be_saved_is_printed(small_file: Path, tmp_path: Path) -> None:
    words = ["compare", str(small_file), "--queue", "drop_tail,red", "--seeds", "1"]
    done = on_a_full_disk(tmp_path, *words, "--out", "out")
    assert_one_error(done, "out")
    assert "drop_tail" in done.stdout
    assert partial(tmp_path) == []


def test_a_search_that_cannot_be_saved_is_printed(small_file: Path, tmp_path: Path) -> None:
    words = ["size-buffer", str(small_file), "--target-utilization", "0.1", "--seeds", "2", "--max", "2"]
    done = on_a_full_disk(tmp_path, *words, "--set", "topology.star.bottleneck.queue=drop_tail", "--out", "out")
    assert_one_error(done, "out")
    assert "packets" in done.stdout
    assert partial(tmp_path) == []


def test_an_experiment_that_cannot_be_saved_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "experiments" / "sample" / "small.toml"
    file.parent.mkdir(parents=True)
    file.write_text(tomli_w.dumps(EXPERIMENT))
    done = on_a_full_disk(tmp_path, "reproduce", file, "--out", "out")
    assert_one_error(done, "out/sample/small")
    assert "Goodput of all" in done.stdout
    assert partial(tmp_path) == []


def test_figures_that_cannot_be_saved_leave_the_results(forebay: Command, small_file: Path, tmp_path: Path) -> None:
    assert forebay("run", small_file, "--out", "out").returncode == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    done = on_a_full_disk(tmp_path, "plot", "out")
    assert_one_error(done, "out")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_the_error_names_folder_and_room(monkeypatch: pytest.MonkeyPatch, small: fb.Scenario, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "whatever")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(fb.InputError, match=rf"folder {tmp_path}/out: No space left on device, \S+ \w?B free\nhint: "):
        fb.run(small, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_full_disk_stays_what_it_is(small: fb.Scenario, tmp_path: Path) -> None:
    def fail(_fraction: float) -> None:
        raise PermissionError(errno.EACCES, "not yours", "/etc/shadow")

    long = small.override({"duration": "90 h", "probes.interval": "1 h"})
    with pytest.raises(PermissionError, match="shadow"):
        fb.run(long, out=tmp_path / "out", progress=fail)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "words",
    [["list", "disciplines"], ["schema"], ["explain", "red"], ["--help"], ["--version"], ["run"], ["run", "--json"]],
)
def test_output_to_a_full_disk_is_one_error(small_file: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "forebay", *words, *([str(small_file)] if "run" in words else [])]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: cannot write to standard output: No space left on device"
    assert len(done.stderr.splitlines()) == 2


def test_no_folder_name_is_not_the_current_folder(forebay: Command, small_file: Path, tmp_path: Path) -> None:
    file = str(small_file)
    commands = [
        ["run", file],
        ["compare", file],
        ["size-buffer", file, "--target-utilization", "0.8"],
        ["stability", file],
        ["reproduce", "dbl/table2"],
    ]
    for words in commands:
        done = forebay(*words, "--out", "")
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.startswith("error: the output folder has no name"), done.stderr
    assert list(tmp_path.iterdir()) == [small_file]
    with pytest.raises(fb.InputError, match="has no name"):
        fb.run(small_file, out="")


# --- files of killed calls


def start_long_run(small_file: Path, out: Path) -> subprocess.Popen[str]:
    words = ["run", str(small_file), "--set", "duration=90 h", "--set", "probes.interval=1 h", "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "forebay", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_what_a_killed_run_left_is_swept_and_nothing_else(forebay: Command, small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed = start_long_run(small_file, out)
    while not list(out.glob(f"{PARTIAL}*/*.pcapng")):
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.02)
    (left,) = out.glob(f"{PARTIAL}*")
    killed.kill()
    killed.communicate()
    going_on = start_long_run(small_file, out)
    while left.exists() or not list(out.glob(f"{PARTIAL}*/*.pcapng")):
        assert going_on.poll() is None, going_on.communicate()
        time.sleep(0.02)
    (out / ".partial-mine").mkdir()
    (out / ".partial-mine" / "notes.txt").write_text("mine")
    assert forebay("run", small_file, "--out", out).returncode == 0
    # The folder of the running call is still there, and so is the user's.
    assert len(list(out.glob(f"{PARTIAL}*/*.pcapng"))) == 1
    assert (out / ".partial-mine" / "notes.txt").read_text() == "mine"
    going_on.send_signal(signal.SIGINT)
    _, stderr = going_on.communicate(timeout=60)
    assert going_on.returncode == 130
    assert f"the older results in {out} are unchanged" not in stderr  # There were none when it began.
    assert list(out.glob(f"{PARTIAL}*")) == []
    assert fb.load(out).scenario == "small"


def test_partial_outcomes_are_swept_but_not_those_being_written(tmp_path: Path) -> None:
    (tmp_path / f"{PARTIAL}0123456789abcdef").write_bytes(b"half of an outcome")
    (tmp_path / "0123.parquet").write_bytes(b"kept")
    with begun(tmp_path, Path.touch) as writing:
        sweep(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {writing.name, "0123.parquet"}
    assert [path.name for path in tmp_path.iterdir()] == ["0123.parquet"]


def test_an_outcome_that_cannot_be_written_leaves_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(os, "write", full)
    assert not Store(tmp_path).keep(Job("key", "name", 1, "text"), Outcome({}))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_put_whole_however_little_the_system_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    content = bytes(range(256))
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, rest: write(file, rest[:100]))
    put(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_another_call_sweeps_away_is_put_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = os.open
    swept: list[str] = []

    def open_and_sweep(path: str, flags: int, mode: int = 0o777) -> int:
        file = opened(path, flags, mode)
        if PARTIAL in str(path) and not swept:
            swept.append(path)
            sweep(tmp_path)
        return file

    monkeypatch.setattr(os, "open", open_and_sweep)
    put(tmp_path / "file", b"whole")
    assert len(swept) == 1
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"whole")]
    with pytest.raises(FileNotFoundError):
        put(tmp_path / "absent" / "file", b"")


def test_a_folder_can_be_written_twice_at_a_time(tmp_path: Path) -> None:
    with staged(tmp_path) as one, staged(tmp_path) as other:
        assert one != other
        (one / "a").write_text("1")
        (other / "b").write_text("2")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
