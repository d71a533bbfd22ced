"""Runs a process, and tells what it used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Linux lets a process start with the peak memory of the one that forked it: a large parent would hide a small child.
# This launcher is no larger than what is measured here. It writes exit status, CPU seconds, wall seconds and peak KiB
# to its first argument.
LAUNCHER = """
import os, sys, time
begun = time.monotonic()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ), 0)
wall = time.monotonic() - begun
with open(sys.argv[1], "w") as report:
    print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss, file=report)
"""


class ProcessFailedError(Exception):
    """A measured process did not end well."""


@dataclass(frozen=True)
class Usage:
    """The output and resources of a finished process."""

    stdout: str
    cpu_s: float
    wall_s: float
    peak_mb: float


def measure(command: Sequence[str], *, timeout_s: float = 900, environment: Mapping[str, str] | None = None) -> Usage:
    """Runs a command to its end; its CPU time and peak memory as the operating system counts them."""
    with tempfile.NamedTemporaryFile() as report:
        launched = [sys.executable, "-I", "-S", "-c", LAUNCHER, report.name, *command]
        process = subprocess.Popen(
            launched,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        try:
            output, errors = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as expired:
            message = f"stopped after {timeout_s:g} s"
            raise ProcessFailedError(message) from expired
        finally:
            # Nothing that was started outlives a timeout or Ctrl-C.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        measured = Path(report.name).read_text(encoding="utf-8").split()
    if not measured:
        raise ProcessFailedError(explain_exit(process.returncode, errors))
    exit_code, cpu_s, wall_s, peak_kib = measured
    if exit_code != "0":
        raise ProcessFailedError(explain_exit(int(exit_code), errors))
    return Usage(output, float(cpu_s), float(wall_s), float(peak_kib) * 1024 / 1e6)


def explain_exit(exit_code: int, errors: str) -> str:
    """One line about a process that did not end well."""
    last_line = (errors.strip().splitlines() or [""])[-1]
    what = f"crashed with {signal.Signals(-exit_code).name}" if exit_code < 0 else f"exit status {exit_code}"
    return f"{what}: {last_line}" if last_line else what


def first_line(command: Sequence[str]) -> str | None:
    """The first line that a command prints; None if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else None
