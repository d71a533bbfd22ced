"""Ctrl-C: every command ends at once, wherever it is, says what is kept, and has status 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import forebay as fb

# Would take hours; its few flows let thousands of packets pass for each event of the engine's queue.
LONG = """
duration = "90 h"

[topology.star]
access = { rate = "10 Gbps", delay = "1 ms" }
bottleneck = { rate = "10 Gbps", delay = "50 ms", queue.drop_tail = { limit = "100000 packets" } }

[[flows]]
name = "tcp"
transport = "tcp"
"""

ETHERNET = """
duration = "90 h"

[topology.ethernet]
link = { rate = "10 Gbps", delay = "10 ms" }
switches = [{ name = "SW", nodes = ["1", "2", "3"] }]

[[flows]]
name = "frames"
from = ["1", "2"]
to = "3"
transport.frames = { rate = "4 Gbps" }
"""

COMMANDS = {
    "run": ["run", "long.toml"],
    "run --out": ["run", "long.toml", "--out", "out"],
    "run of an Ethernet": ["run", "ethernet.toml"],
    "compare": ["compare", "long.toml", "--queue", "drop_tail,red", "--out", "out"],
    "size-buffer": ["size-buffer", "long.toml", "--target-utilization", "0.8", "--out", "out"],
}
SAYS = {"compare": "the same command continues", "size-buffer": "the same command continues"}


def start(folder: Path, words: list[str], **environment: str) -> subprocess.Popen[str]:
    (folder / "long.toml").write_text(LONG)
    (folder / "ethernet.toml").write_text(ETHERNET)
    return subprocess.Popen(
        [sys.executable, "-m", "forebay", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **environment},
    )


def is_simulating(process: subprocess.Popen[str]) -> bool:
    """Whether the process has a thread of the core."""
    names = (path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/comm"))
    return any(name.strip() == "forebay-core" for name in names)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are seen in /proc")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_simulation_is_not_waited_for(tmp_path: Path, command: str) -> None:
    process = start(tmp_path, COMMANDS[command])
    while not is_simulating(process):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    # It would go on for hours.
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert "stopped" in stderr
    assert SAYS.get(command, "nothing was written") in stderr
    assert "Traceback" not in stderr
    assert list(tmp_path.rglob(".partial*")) == []
    if command.startswith("run"):
        assert not (tmp_path / "out").exists()


# Heavy imports at start-up, and those that only a command makes.
@pytest.mark.parametrize("module", ["typer", "rich.console", "numpy", "matplotlib"])
@pytest.mark.parametrize("behaviour", ["pass", "raise ImportError('initialization failed')"])
def test_ctrl_c_during_an_import_is_no_fault(tmp_path: Path, module: str, behaviour: str) -> None:
    """Compiled modules make an ImportError of what Ctrl-C raises while they load."""
    finder = f"""
import importlib.abc, os, signal, sys, time
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            except KeyboardInterrupt:
                {behaviour}
                raise
sys.meta_path.insert(0, Finder())
"""
    (tmp_path / "sitecustomize.py").write_text(finder)
    words = ["compare", "long.toml", "--queue", "drop_tail", "--set", "duration=10 ms", "--seeds", "1", "--out", "out"]
    process = start(tmp_path, words, PYTHONPATH=str(tmp_path))
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert "stopped" in stderr


IN_A_FINALIZER = """
import os, signal, time
from forebay.cli import interrupt
interrupt.listen()
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
try:
    Finalized()
    time.sleep(60)
    print("lost")
except KeyboardInterrupt:
    print("heard", interrupt.heard())
"""


def test_ctrl_c_in_a_finalizer_is_not_lost() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_FINALIZER], capture_output=True, text=True, check=False, timeout=50
    )
    assert (done.stdout, done.stderr) == ("heard True\n", "")


def test_a_command_in_the_background_that_ignores_ctrl_c_still_does(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    words = [sys.executable, "-m", "forebay", "run", "long.toml", "--set", "duration=10 s"]
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "tcp" in stdout


def test_a_run_on_another_thread_is_stopped_by_its_progress() -> None:
    """The handling of runs by `compare`."""
    scenario = fb.Scenario.from_toml(LONG)
    stop = threading.Event()
    ended: list[BaseException] = []

    def run() -> None:
        def progress(_fraction: float) -> None:
            if stop.is_set():
                raise StopIteration

        try:
            fb.run(scenario, progress=progress)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    stop.set()
    thread.join(timeout=60)
    assert [type(error) for error in ended] == [StopIteration]
