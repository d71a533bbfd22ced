"""Damaged and foreign files in folders of results: one clear message, or the run is repeated."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from conftest import SMALL, Command
from forebay.captures.result import is_replay
from forebay.folder import PARTIAL, staged, sweep
from forebay.runs.store import Store
from forebay.storage.stored import read_frame, sealed, write_frame
from report_folders import write_folders
from test_sweep import SCENARIO

CAPTURE = Path(__file__).parents[2] / "examples" / "belligerent.pcap.gz"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind of result."""
    root = tmp_path_factory.mktemp("results")
    found = write_folders(root)
    fb.replay(CAPTURE, rate="10 Mbps", queue="drop_tail", out=root / "replay")
    return found | {"replay": root / "replay"}


LOADERS: dict[str, Callable[[Path], object]] = {
    "plain": lambda folder: fb.Result.load(folder).to_json(),
    "sweep": lambda folder: fb.Sweep.load(folder).to_json(),
    "compare": lambda folder: fb.Comparison.load(folder).to_json(),
    "replay": lambda folder: fb.ReplayResult.load(folder).to_json(),
    "claims": fb.report,
}

Harm = Callable[[bytes, random.Random], bytes]


def flipped(content: bytes, draw: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(draw.choice([1, 3, 30])):
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return bytes(damaged)


def cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def unsealed(content: bytes) -> bytes:
    """Return a Parquet file as older versions wrote it, without a checksum."""
    place = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    plain = content[: place - 48] + content[place:]
    assert sealed(plain) == content
    return plain


def without_checksum(content: bytes, draw: random.Random) -> bytes:
    return draw.choice([flipped, cut])(unsealed(content), draw)


VALUES: list[Any] = [None, True, -1, 2**70, 1e400, "text", [], {}, [[]], {"name": 1}]


def changed(content: bytes, draw: random.Random) -> bytes:
    """Put a value of any kind in the place of some value of a JSON document, or remove it."""
    document = json.loads(content)
    place, places = document, []
    while isinstance(place, dict | list) and place:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        places.append((place, key))
        place = place[key]
    holder, key = draw.choice(places)
    if draw.random() < 0.2 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = draw.choice(VALUES)
    return json.dumps(document).encode()


HARMS: dict[str, list[Harm]] = {
    ".json": [flipped, cut, changed, changed, changed],
    ".parquet": [flipped, cut, without_checksum],
}


@pytest.mark.parametrize("kind", LOADERS)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_result_is_read_or_refused_with_a_message(
    kind: str, seed: int, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw = random.Random(seed)
    copy = tmp_path_factory.mktemp("damaged") / "copy"
    shutil.copytree(folders[kind], copy)
    path = draw.choice(sorted(path for path in copy.iterdir() if path.suffix in HARMS))
    path.write_bytes(draw.choice(HARMS[path.suffix])(path.read_bytes(), draw))
    refusals = []
    try:
        LOADERS[kind](copy)
        if seed % 4 == 0:
            fb.report(copy)
    except fb.InputError as error:
        refusals.append(str(error))
    finally:
        shutil.rmtree(copy)
    assert all("hint:" in refusal for refusal in refusals)


FOREIGN = [
    b"",
    b"[]",
    b"null",
    b"7",
    b'"text"',
    b"{}",
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"seed": NaN}',
    b"PAR1",
    b"PAR1" * 3,
]


@pytest.mark.parametrize("content", FOREIGN)
def test_a_foreign_file_is_refused_by_every_reader(content: bytes, folders: dict[str, Path], tmp_path: Path) -> None:
    for kind, load in LOADERS.items():
        for name in sorted(path.name for path in folders[kind].iterdir() if path.suffix in HARMS):
            copy = tmp_path / kind / name
            shutil.copytree(folders[kind], copy)
            (copy / name).write_bytes(content)
            with pytest.raises(fb.InputError, match="hint:"):
                load(copy)
            assert not is_replay(copy) or name != "result.json"


def test_a_damaged_value_is_noticed_by_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    frame = pl.DataFrame({"value": [float(number) for number in range(1000)]})
    write_frame(frame, path)
    assert read_frame(path).equals(frame)
    # Other readers take the same file.
    assert pl.read_parquet(path).equals(frame)
    content = path.read_bytes()
    path.write_bytes(unsealed(content))
    assert read_frame(path).equals(frame)
    for place in range(0, len(content), 97):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            found = read_frame(path)
        except (ValueError, pl.exceptions.PolarsError):
            continue
        # Without the words that announce it there is no checksum.
        assert found.equals(frame)


def with_fifo(folder: Path, name: str) -> Path:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_fifo_in_place_of_a_file_never_hangs(folders: dict[str, Path], tmp_path: Path, forebay: Command) -> None:
    for name in ("result.json", "flows.parquet"):
        copy = tmp_path / name
        shutil.copytree(folders["plain"], copy)
        done = forebay("plot", with_fifo(copy, name))
        assert done.returncode == 2
        assert "it is not a regular file" in done.stderr
    for kind, name in (("sweep", "points.parquet"), ("compare", "compare.json"), ("claims", "claims.json")):
        copy = tmp_path / kind
        shutil.copytree(folders[kind], copy)
        assert forebay("report", with_fifo(copy, name)).returncode == 2


def test_a_damaged_run_of_a_sweep_is_run_again_with_a_warning(tmp_path: Path) -> None:
    office = fb.Scenario.from_toml(SCENARIO, "office.toml")
    counts = {"flows.tcp.count": [1, 2]}
    out = tmp_path / "out"
    first = fb.sweep(office, counts, seeds=2, out=out)
    files = sorted((out / "runs").iterdir())
    whole = [path.read_bytes() for path in files]
    assert len(files) == 4
    files[0].write_bytes(b"")
    # One bit of a value.
    files[1].write_bytes(whole[1][:200] + bytes([whole[1][200] ^ 1]) + whole[1][201:])
    # The file of another run.
    files[2].write_bytes(whole[3])
    with pytest.warns(fb.DamagedFileWarning) as warned:
        again = fb.sweep(office, counts, seeds=2, out=out)
    assert sorted(str(one.message).partition(" is damaged")[0] for one in warned) == [str(path) for path in files[:3]]
    assert again.runs.equals(first.runs)
    assert [path.read_bytes() for path in files] == whole
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fb.sweep(office, counts, seeds=2, out=out)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_a_stored_run_that_is_damaged_is_read_or_not_there(
    seed: int, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw = random.Random(seed)
    path = min((folders["sweep"] / "runs").iterdir())
    folder = tmp_path_factory.mktemp("runs")
    content = path.read_bytes()
    (folder / path.name).write_bytes(draw.choice(HARMS[".parquet"])(content, draw))
    Store(folder).read(path.stem)


def test_the_command_says_that_it_repeats_a_run(tmp_path: Path, forebay: Command) -> None:
    (tmp_path / "office.toml").write_text(SCENARIO)
    words = ("sweep", "office.toml", "--vary", "flows.tcp.count=1,2", "--seeds", "2", "--out", "out", "--json")
    first = forebay(*words)
    damaged = sorted((tmp_path / "out" / "runs").iterdir())[1]
    content = damaged.read_bytes()
    for harmed in (b"nothing", unsealed(content)[:-100] + bytes(100), content[:-100] + content[-90:]):
        damaged.write_bytes(harmed)
        again = forebay(*words)
        assert again.returncode == 0, again.stderr
        assert again.stdout == first.stdout
        assert f"warning: out/runs/{damaged.name} is damaged" in again.stderr
        assert "Traceback" not in again.stderr
    damaged.write_bytes(b"nothing")
    assert forebay("report", "out").returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_sweep_removes_what_has_its_name_and_kind_and_nothing_else(tmp_path: Path) -> None:
    ours = tmp_path / f"{PARTIAL}0123456789abcdef"
    ours.write_text("half")
    trace = tmp_path / f"{PARTIAL}bottleneck.pcapng"
    trace.write_text("a trace")
    fifo = tmp_path / f"{PARTIAL}{'0' * 16}"
    os.mkfifo(fifo)
    link = tmp_path / f"{PARTIAL}{'1' * 16}"
    link.symlink_to(trace)
    program = f"from pathlib import Path; from forebay.folder import sweep; sweep(Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in (trace, fifo, link))
    sweep(tmp_path)


def test_a_trace_or_folder_with_the_name_of_an_incomplete_file_is_refused(tmp_path: Path) -> None:
    name = f"{PARTIAL}{'0' * 16}"
    scenario = fb.Scenario.from_toml(SMALL.replace("bottleneck.pcapng", name), "small.toml")
    with pytest.raises(fb.InputError, match=r"trace .* has a name that Forebay uses"):
        fb.run(scenario, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(fb.InputError, match="has a name that Forebay uses"), staged(tmp_path / name):
        pass
