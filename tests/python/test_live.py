"""`forebay live`: the arguments for `forebay-live`, and the display of `top` for a data plane that is made up here."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import forebay as fb
from forebay.cli.live import command
from forebay.cli.live.top import BUCKETS_S, frame_of

ROOT = Path(__file__).parents[2]
LONG_FLOW = "TCP [2001:db8:1:2:3:4:5:6]:47874 > [2001:db8:ffff:2:3:4:5:6]:5203"


def histogram(count: int, upper: float) -> dict[str, Any]:
    buckets = [count if bound >= upper else 0 for bound in BUCKETS_S]
    return {
        "count": count, "sum_s": 0.0, "p50_s": upper, "p90_s": upper, "p99_s": upper, "p999_s": upper,
        "max_s": upper, "buckets": buckets,
    }  # fmt: skip


def count(packets: int) -> dict[str, int]:
    return {"packets": packets, "bytes": packets * 1250}


def port(second: int) -> dict[str, Any]:
    """A direction that sends 9.5 of 10 Mb/s and drops 50 packets a second."""
    packets = 950 * second
    flow = {"bytes": 1250 * packets, "error_bytes": 0, "packets": packets, "marked": 0, "gauges": {"credits": 3.0}}
    return {
        "direction": "outbound", "from": "lan0", "to": "wan0", "rate_bps": 10_000_000, "overhead_bytes": 24,
        "burst_s": 0.001, "queue": {"discipline": "dbl", "parameters": {}}, "bypass": False,
        "received": count(1000 * second), "sent": count(packets), "bypassed": count(0),
        "dropped": {"belligerent": count(50 * second), "overflow": count(0)}, "marked": {"early": 20 * second},
        "refused": {"too_long": count(0)}, "missed_frames": 0, "backlog_packets": 12, "backlog_bytes": 15000,
        "draining_packets": 0, "buffers_in_use": 13, "buffers": 8192, "state_bytes": 100,
        "sojourn": histogram(packets, 0.01), "lateness": histogram(packets, 5e-5), "gauges": {"avg": 11.5},
        "flows": [{"flow": "UDP 10.0.0.1:7 > 10.0.0.2:9", "dropped": 50 * second, **flow},
                  {"flow": LONG_FLOW, "dropped": 0, **flow}],
        "shadow": {"queue": {"discipline": "red", "parameters": {}}, "received": count(0), "sent": count(0),
                   "dropped": {"early": count(80 * second)}, "marked": {}, "backlog_packets": 0,
                   "sojourn": histogram(0, 1.0), "gauges": {}},
    }  # fmt: skip


@contextmanager
def data_plane(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Answers `stats` at `path`, a second further each time. Yields what was asked."""
    asked: list[dict[str, Any]] = []
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            # A client that was stopped hears no answer.
            with suppress(ConnectionError), client, client.makefile("rwb") as lines:
                for line in lines:
                    asked.append(json.loads(line))
                    result = {"directions": [port(len(asked))], "streams": []}
                    lines.write(json.dumps({"ok": True, "result": result}).encode() + b"\n")
                    lines.flush()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield asked
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)


def start(*words: str | Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "forebay", "live", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment},
    )


def run(*words: str | Path, **environment: str) -> tuple[int, str, str]:
    process = start(*words, **environment)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def shown(before: dict[str, Any], now: dict[str, Any], width: int = 80) -> str:
    return drawn([before], [now], width)


def drawn(before: list[dict[str, Any]], now: list[dict[str, Any]], width: int, height: int | None = None) -> str:
    console = Console(width=width, force_terminal=False, color_system=None)
    with console.capture() as capture:
        console.print(frame_of({"directions": before}, {"directions": now}, 1.0, width, height))
    return capture.get()


def busy(direction: str, second: int) -> dict[str, Any]:
    """A direction about which there is everything to say, with twelve flows."""
    found = port(second) | {"direction": direction, "missed_frames": second}
    found["dropped"] |= {"flow_limit": count(159 * second), "too_many_of_them": count(1234 * second)}
    found["gauges"] = {"active_flows": 1.0, "belligerent_flows": 3.0, "dbl": 256.0, "queue_cells": 24.0}
    names = [LONG_FLOW, *(f"TCP 10.0.0.1:{50852 + number} > 10.0.0.2:5201" for number in range(11))]
    gauges = {"buffers_used": 24.0, "credits": 15.0, "dbl": 256.0}
    found["flows"] = [{**found["flows"][0], "flow": name, "gauges": gauges} for name in names]
    return found


def test_a_frame_tells_of_the_last_second() -> None:
    text = shown(port(10), port(11))
    for words in (
        "outbound  lan0 > wan0  dbl",
        "9.5 Mbit/s of 10 Mbit/s (95%), offered 10 Mbit/s",
        "12 packets, 15 kB; buffers 13 of 8,192",
        "belligerent 50 /s; 550 since the start",
        "early 20 /s; 220 since the start",
        "would drop early 80 /s; 880 since the start",
        "avg 11.5",
        "UDP 10.0.0.1:7 > 10.0.0.2:9",
    ):
        assert words in text, f"{words}\n{text}"
    assert re.search(r"drops/s +marks/s\n.*:9 +9\.5 M +50 +0\n", text), text
    # All of the second's packets are in the buckets up to 10 ms and 50 us.
    assert re.search(r"sojourn +p50 7\.5 ms, p99 9\.95 ms", text), text
    assert re.search(r"lateness +p99 49\.7 us", text), text
    assert all(len(line) <= 80 for line in text.splitlines()), text
    assert "5203" in text, "the end of a long name is kept"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 24), (80, 40), (120, 50), (80, 12)])
def test_a_frame_fits_into_its_terminal_and_cuts_no_number(width: int, height: int) -> None:
    before, now = ([busy(direction, second) for direction in ("outbound", "inbound")] for second in (9, 10))
    text = drawn(before, now, width, height)
    lines = [line.rstrip() for line in text.splitlines()]
    assert len(lines) <= height, text
    assert max(map(len, lines)) <= width, text
    for direction in ("outbound", "inbound"):
        assert sum(line.startswith(direction) for line in lines) == 1, text
    for name in ("rate in use", "backlog", "sojourn", "drops"):
        assert sum(line.startswith(f"  {name} ") for line in lines) == 2, f"{name}\n{text}"
    # A line ends with a whole part of it: with a unit, or a total, and not within a number.
    drops = [line for line in lines if line.startswith("  drops ")]
    assert all(re.search(r"( /s| k/s| since the start)( …)?$", line) for line in drops), text
    heads = [number for number, line in enumerate(lines) if line.startswith("  flow ")]
    assert len(heads) == (2 if height >= 24 else 0), text
    for head in heads:
        assert lines[head].split()[:4] == ["flow", "bit/s", "drops/s", "marks/s"], text
        # At least three flows, each with its port and all its numbers.
        for line in lines[head + 1 : head + 4]:
            assert re.search(r":520[13]  +9\.5 M +50 +0( +[0-9]+)*$", line), line


def test_more_of_a_flows_state_is_shown_where_there_is_room() -> None:
    columns = [
        re.findall(r"[a-z_/]+", line)[4:]
        for width in (80, 110, 160)
        for line in drawn([busy("outbound", 9)], [busy("outbound", 10)], width).splitlines()
        if line.startswith("  flow ")
    ]
    assert columns == [[], ["buffers_used"], ["buffers_used", "credits", "dbl"]]


def test_a_frame_of_nothing_of_bypass_and_of_what_is_new() -> None:
    idle = port(0)
    idle["flows"], idle["shadow"], idle["bypass"] = [], None, True
    text = shown(idle, idle)
    assert "BYPASS" in text
    assert re.search(r"drops +none", text)
    assert "shadow" not in text
    new = copy.deepcopy(port(5))
    new["flows"][0]["flow"] = "ICMP 10.0.0.9 > 10.0.0.2"
    new["shadow"]["queue"]["discipline"] = "afd"
    new["missed_frames"] = 40
    older = port(4)
    older["shadow"] = None
    text = shown(older, new)
    assert re.search(r"ICMP 10\.0\.0\.9 > 10\.0\.0\.2 +0 ", text), text
    assert "missed 40 /s" in text


def test_buckets_are_those_of_the_snapshots() -> None:
    text = (ROOT / "crates/live/src/snapshot.rs").read_text(encoding="utf-8")
    bounds = re.search(r"BUCKETS_S: \[f64; \d+\] =\s*\[([^\]]+)\]", text)
    assert bounds is not None
    assert tuple(map(float, bounds[1].split(","))) == BUCKETS_S


def test_top_once_and_as_json(tmp_path: Path) -> None:
    path = tmp_path / "live.sock"
    with data_plane(path) as asked:
        status, out, err = run("top", "--once", "--socket", path)
        assert (status, err) == (0, "")
        assert "belligerent" in out
        assert asked == [{"command": "stats"}] * 2
        status, out, err = run("top", "--json", "--socket", path)
        assert (status, err) == (0, "")
        assert json.loads(out)["directions"][0]["rate_bps"] == 10_000_000


def test_top_without_anybody_there(tmp_path: Path) -> None:
    status, out, err = run("top", "--socket", tmp_path / "nobody.sock")
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert "nobody.sock" in err
    assert "hint: is forebay-live running?" in err


def test_ctrl_c_ends_top(tmp_path: Path) -> None:
    path = tmp_path / "live.sock"
    with data_plane(path) as asked:
        process = start("top", "--once", "--socket", path)
        deadline = time.monotonic() + 30
        while not asked and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "forebay-live goes on" in err


ELSEWHERE = "import sys; sys.executable = sys.argv.pop(1); from forebay.__main__ import main; main()"
"""The command of a Python that is somewhere else: beside this one there may be a `forebay-live`."""


def passed_on(python: Path, words: list[str], path: str) -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": path}
    words = [sys.executable, "-c", ELSEWHERE, str(python), "live", *words]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a `forebay-live` that prints its arguments."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / command.PROGRAM
    program.write_text('#!/bin/sh\nfor word in "$@"; do echo "<$word>"; done\nexit 7\n')
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["lab.toml"],
        ["lab.toml", "--set", "outbound.rate=50 Mbps"],
        ["run", "lab.toml"],
        ["check", "lab.toml"],
        ["set", "outbound", "rate=50 Mbps", "--confirm", "30s"],
        ["show", "--json", "--socket", "here"],
        ["record", "night.fbr", "--duration", "8h"],
        ["capture", "--help"],
        ["teardown", "fb-lan0"],
    ],
)
def test_words_are_passed_on(programs: Path, words: list[str]) -> None:
    status, out, err = passed_on(programs / "python", words, os.environ["PATH"])
    assert (status, err) == (7, "")
    # A configuration alone is one to run.
    expected = ["run", *words] if words[0] == "lab.toml" else words
    assert out.splitlines() == [f"<{word}>" for word in expected]


def test_the_program_is_looked_for_in_path_behind(programs: Path, tmp_path: Path) -> None:
    status, out, _ = passed_on(tmp_path / "python", ["ping"], f"{programs}{os.pathsep}{os.environ['PATH']}")
    assert (status, out) == (7, "<ping>\n")


def test_a_missing_program_is_one_error_with_its_remedy(tmp_path: Path) -> None:
    status, out, err = passed_on(tmp_path / "python", ["show"], str(tmp_path))
    assert (status, out) == (2, "")
    assert err.startswith("error: the program forebay-live is neither next to")
    assert "hint: " in err


def test_a_program_that_is_none_is_one_error(programs: Path) -> None:
    (programs / command.PROGRAM).write_text("not a program")
    status, _, err = passed_on(programs / "python", ["show"], "")
    assert status == 2
    assert "cannot be started: Exec format error" in err


def test_an_unknown_command_is_named() -> None:
    status, _, err = run("shwo")
    assert status == 2
    assert "shwo" in err


def test_a_record_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "night.fbr"
    shutil.copyfile(ROOT / "fuzz/seeds/capture/arrivals.fbr", path)
    replayed = fb.replay(path, rate="1 Mbps", queue="drop_tail")
    assert (replayed.packets, replayed.packets_missed) == (5, 5)
    assert struct.unpack_from("<4sB", path.read_bytes()) == (b"FBRA", 1)
    with pytest.raises(fb.InputError, match="leave out --capture-out"):
        fb.replay(path, rate="1 Mbps", queue="drop_tail", drops_out=tmp_path / "drops.pcapng")
