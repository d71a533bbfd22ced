"""Disciplines in Python that loop: Ctrl-C and exceptions end their runs, and the interpreter ends cleanly."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import forebay as fb
from forebay.gym import QueueEnv
from test_gym import SCENARIO

LAWS = (
    '''
import sys, time
from pathlib import Path
import forebay as fb

class Loop(fb.AdmissionLaw):
    """Loops at its hundredth packet."""
    def admit(self, packet):
        if packet == 100:
            print("looping", flush=True)
            while True:
                pass
        return True

class Stubborn(fb.AdmissionLaw):
    """Loops, and catches whatever is raised in it."""
    def admit(self, packet):
        if packet == 100:
            print("looping", flush=True)
        while packet >= 100:
            try:
                while True:
                    pass
            except BaseException:
                pass
        return True

class Sleeper(fb.AdmissionLaw):
    """Waits outside the interpreter."""
    def admit(self, packet):
        if packet == 100:
            print("looping", flush=True)
            time.sleep(2)
        return True

class Builder(fb.AdmissionLaw):
    """Loops before the run begins."""
    def __init__(self):
        print("looping", flush=True)
        while True:
            pass

    def admit(self, packet):
        return True

SCENARIO = fb.Scenario.from_toml(""" '''
    + SCENARIO
    + '''""")

def scenario(law):
    return SCENARIO.override({"duration": "1000 s", "topology.star.bottleneck.queue": {"python": law}})

def left():
    """Return how many threads of the core there are once those that end have ended."""
    time.sleep(0.2)
    return sum(path.read_text() == "forebay-core\\n" for path in Path("/proc/self/task").glob("*/comm"))
'''
)

CATCHES = """
from laws import *
try:
    fb.run(scenario({law}))
except KeyboardInterrupt:
    print("caught", left(), flush=True)
"""

RAISES = """
from laws import *
begun = time.monotonic()
def progress(_):
    if time.monotonic() > begun + 1:
        raise ValueError("enough")
try:
    fb.run(scenario({law}), progress=progress)
except ValueError:
    print("caught", flush=True)
"""

ENVIRONMENT = """
from laws import *
from forebay.gym import QueueEnv
env = QueueEnv(SCENARIO, interval_s=0.5, reward=lambda seen: 0.0, law={law}, actions={{"x": (0, 1)}})
try:
    env.reset(seed=1)
except KeyboardInterrupt:
    print("caught", flush=True)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")


def begun(folder: Path, program: str, law: str) -> subprocess.Popen[str]:
    (folder / "laws.py").write_text(LAWS)
    (folder / "program.py").write_text(program.format(law=law))
    process = subprocess.Popen(
        [sys.executable, "program.py"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "looping\n"
    time.sleep(0.3)
    return process


def interrupted(folder: Path, program: str, law: str) -> tuple[int, str, str, float]:
    process = begun(folder, program, law)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        said, complaint = process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode, said, complaint, time.monotonic() - pressed


@pytest.mark.parametrize("law", ["Loop", "Builder"])
def test_a_law_that_loops_ends_with_ctrl_c_and_leaves_no_thread(tmp_path: Path, law: str) -> None:
    assert interrupted(tmp_path, CATCHES, law)[:3] == (0, "caught 0\n", "")


def test_a_law_that_sleeps_is_waited_for_at_the_end_of_the_interpreter(tmp_path: Path) -> None:
    status, said, complaint, _ = interrupted(tmp_path, CATCHES, "Sleeper")
    assert (status, complaint) == (0, "")
    assert said.startswith("caught")


def test_a_law_that_cannot_be_stopped_ends_with_the_process_after_a_while(tmp_path: Path) -> None:
    status, said, complaint, took = interrupted(tmp_path, CATCHES, "Stubborn")
    assert status == 130
    assert said == "caught 1\n"
    assert complaint.startswith("forebay: a class written in Python did not stop")
    assert took < 15


def test_an_exception_of_progress_ends_a_law_that_loops(tmp_path: Path) -> None:
    process = begun(tmp_path, RAISES, "Loop")
    assert process.communicate(timeout=30) == ("caught\n", "")
    assert process.returncode == 0


@pytest.mark.parametrize("law", ["Loop", "Builder"])
def test_reset_of_an_environment_hears_ctrl_c_while_its_law_loops(tmp_path: Path, law: str) -> None:
    status, said, complaint, took = interrupted(tmp_path, ENVIRONMENT, law)
    assert (status, said, complaint) == (0, "caught\n", "")
    assert took < 10


def test_an_environment_that_is_not_closed_does_not_disturb_the_end_of_the_interpreter(tmp_path: Path) -> None:
    program = ENVIRONMENT.replace("law={law}, actions={{", "actions={{").replace('"x"', '"probability"')
    (tmp_path / "laws.py").write_text(LAWS)
    (tmp_path / "program.py").write_text(program.format() + "    pass\nprint('end')\n")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_run_on_a_daemon_thread_does_not_disturb_the_end_of_the_interpreter(tmp_path: Path) -> None:
    (tmp_path / "laws.py").write_text(LAWS)
    program = "from laws import *\nimport threading\nlong = SCENARIO.override({'duration': '100000 s'})\n"
    program += "threading.Thread(target=lambda: fb.run(long), daemon=True).start()\ntime.sleep(0.5)\n"
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert "fatal" not in done.stderr.lower()


def test_an_exception_in_a_step_ends_all_runs_of_an_environment() -> None:
    class Loop(fb.AdmissionLaw):
        limit = 1.0

        def admit(self, packet: int) -> bool:
            while packet > 300:
                pass
            return True

    def alarm(_number: int, _frame: object) -> None:
        raise TimeoutError

    def step_on() -> None:
        while True:
            env.step(env.action_space.sample())

    env = QueueEnv(
        fb.Scenario.from_toml(SCENARIO),
        interval_s=0.01,
        reward=lambda _: 0.0,
        num_envs=2,
        law=Loop,
        actions={"limit": (0.0, 1.0)},
    )
    before = threading.active_count()
    env.reset(seed=1)
    handler = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(TimeoutError):
            step_on()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
    assert threading.active_count() == before
    with pytest.raises(fb.InputError, match="before reset"):
        env.step(env.action_space.sample())


def test_two_runs_in_a_row_after_an_interruption_have_their_results() -> None:
    """An exception that was raised in one run does not reach the next."""
    scenario = fb.Scenario.from_toml(SCENARIO)

    class Slow(fb.AdmissionLaw):
        def admit(self, packet: int) -> bool:
            return packet >= 0

    def fail(_: float) -> None:
        raise ZeroDivisionError

    slow = scenario.override({"topology.star.bottleneck.queue": {"python": Slow}})
    expected = fb.run(slow).digest
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            fb.run(slow.override({"duration": "1000 s"}), progress=fail)
        assert fb.run(slow).digest == expected
