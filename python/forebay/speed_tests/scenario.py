"""The scenario of a speed test: idle pings, then downloads with pings, then uploads with pings.

The number of streams, the time between their starts and the times before measurements begin are the defaults of
LibreSpeed (its `doc.md`: `xhr_dlMultistream`, `xhr_ulMultistream`, `xhr_multistreamDelay`, `time_dlGraceTime`,
`time_ulGraceTime`). A load takes 10 s, as in M-Lab's ndt7.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forebay.access_line import CLIENT, SERVER, AccessLine, time_text
from forebay.display.texts import mean_seconds, seconds
from forebay.errors import InputError
from forebay.scenario import Scenario

NAME = "speedtest"
"""The name of the scenario."""
LENGTH = "10 s"
"""The length of each load unless another is given."""
IDLE_PING = "Ping idle"
"""The name of the ping before any load."""

STEP_S = 0.1
"""How often the flows are sampled. The times below are multiples of it."""
_IDLE_S = 3.0
_BETWEEN_S = 5.0
"""The queue empties between the downloads and the uploads."""
TIMEOUT_S = 10.0
"""The timeout of a ping, and the time from the last ping to the end of the test.

A full queue of a slow line delays pings by more than 2 s, the usual timeout.
"""
STAGGER_S = 0.3
"""The time from the start of a stream to that of the next."""
_PING_S = 0.2


@dataclass(frozen=True)
class Load:
    """The load in one direction."""

    flows: str
    """The name of the group of its flows, as flent has it."""
    ping: str
    """The name of the ping during the load."""
    streams: int
    """Number of flows."""
    grace_s: float
    """The time from the start of the load to the start of the measurement, in seconds."""


DOWNLOAD = Load("TCP download", "Ping download", streams=6, grace_s=1.5)
UPLOAD = Load("TCP upload", "Ping upload", streams=3, grace_s=3.0)


@dataclass(frozen=True)
class Phase:
    """When a load is on, in seconds from the start of the run."""

    start_s: float
    measured_s: float
    """The start of the measurement."""
    end_s: float


def phases(duration_s: float) -> tuple[Phase, Phase]:
    """Return those of the downloads and the uploads in a test that takes this time."""
    length_s = _length_s(duration_s)
    starts = (_IDLE_S, _IDLE_S + length_s + _BETWEEN_S)
    loads = (DOWNLOAD, UPLOAD)
    down, up = (Phase(at, at + load.grace_s, at + length_s) for at, load in zip(starts, loads, strict=True))
    return down, up


def _length_s(duration_s: float) -> float:
    """Return the length of each load in a test that takes this time."""
    return (duration_s - _IDLE_S - _BETWEEN_S - TIMEOUT_S) / 2


def speed_test_scenario(
    *,
    down: str = AccessLine.down,
    up: str = AccessLine.up,
    rtt: str = AccessLine.rtt,
    queue: str = AccessLine.queue,
    length: str = LENGTH,
) -> Scenario:
    """Return the scenario of a speed test on an access line.

    Args:
        down: Rate of the line to the home.
        up: Rate of the line from the home.
        rtt: Round-trip time without queues and transmissions.
        queue: Discipline on both lines, by its bare name. `"cake"` shapes to 95 % of the line's rate.
        length: Length of the downloads, and of the uploads after them: at least 4 s, in steps of 0.1 s.

    Raises:
        InputError: If a value is out of bounds.

    Example:
        >>> scenario = fb.speed_test_scenario(down="20 Mbps", queue="fq_codel")
        >>> scenario.duration_s
        38.0
        >>> fb.speed_test(fb.run(scenario)).download_bps < 20e6
        True

    """
    text = scenario_text(AccessLine(down=down, up=up, rtt=rtt, queue=queue), length)
    return Scenario.from_toml(text, file_name=f"{NAME}.toml")


def scenario_text(line: AccessLine, length: str) -> str:
    """Return the scenario as a file. Its values are checked when it is loaded."""
    length_s = seconds(length, "length")
    if not is_length(length_s):
        message = f"length: {length} is too short, or between two samples\nhint: at least 4 s, in steps of 0.1 s"
        raise InputError(message)
    duration_s = _IDLE_S + _BETWEEN_S + TIMEOUT_S + 2 * length_s
    down, up = phases(duration_s)
    return "\n".join(
        (
            _head(line, duration_s, down, up),
            line.topology(),
            _ping(IDLE_PING, 0.0, _IDLE_S),
            _load(DOWNLOAD, SERVER, CLIENT, down),
            _ping(DOWNLOAD.ping, down.measured_s, down.end_s),
            _load(UPLOAD, CLIENT, SERVER, up),
            _ping(UPLOAD.ping, up.measured_s, up.end_s),
            f'[probes]\ninterval = "{time_text(STEP_S)}"\nseries = ["flows", "queues"]\n',
        )
    )


def is_length(length_s: float) -> bool:
    """Return whether a load may have this length."""
    return length_s > UPLOAD.grace_s + 1.0 - 1e-6 and abs(length_s / STEP_S - round(length_s / STEP_S)) < 1e-6


def check(scenario: Scenario) -> None:
    """Raise InputError unless the scenario has the flows of a speed test, at its times, and samples them as one."""
    loads = [f"{load.flows}-{index}" for load in (DOWNLOAD, UPLOAD) for index in range(load.streams)]
    for name in (IDLE_PING, *loads, DOWNLOAD.ping, UPLOAD.ping):
        if name not in scenario.flows:
            raise refusal(f"{scenario.file_name} is not the scenario of a speed test: it has no flow `{name}`")
    check_duration(scenario.duration_s, scenario.file_name)
    standard = tomllib.loads(scenario_text(AccessLine(), time_text(_length_s(scenario.duration_s))))
    found = _fixed(tomllib.loads(scenario.to_toml()))
    for key, expected in _fixed(standard).items():
        if not _equal(found.get(key), expected):
            raise deviation(scenario.file_name, key, found.get(key), expected, scenario.duration_s)


def check_duration(duration_s: float, where: str) -> None:
    """Raise InputError if no speed test takes this time."""
    if not is_length(_length_s(duration_s)):
        raise refusal(f"{where}: no speed test has a `duration` of {time_text(duration_s)}")


def deviation(where: str, key: str, found: object, expected: object, duration_s: float) -> InputError:
    """Return the error for a value that a speed test of this duration does not have."""
    is_found = "not given" if found is None else found
    of_test = f"in a speed test with a `duration` of {time_text(duration_s)} it is {expected}"
    return refusal(f"{where}: `{key}` is {is_found}; {of_test}")


def _fixed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values on which the measurements rely, by the path of their key."""
    values = {"warmup": document.get("warmup", "0 s"), "probes.interval": document.get("probes", {}).get("interval")}
    for flow in document["flows"]:
        of_flow = {"count": 1, "start": "0 s", "stagger": "0 s", "stop": None, **flow}
        values |= {f"flows.{flow['name']}.{key}": of_flow[key] for key in ("count", "start", "stagger", "stop")}
        match flow["transport"]:
            case {"udp": {"ping": ping}}:
                values[f"flows.{flow['name']}.transport.udp.ping.timeout"] = ping.get("timeout", "2 s")
    return values


def _equal(found: object, expected: object) -> bool:
    """Return whether two values are the same, or the same time."""
    if isinstance(found, str) and isinstance(expected, str):
        return abs(mean_seconds(found) - mean_seconds(expected)) < 1e-9
    return found == expected


def refusal(message: str) -> InputError:
    """Return the error for a scenario or a result that is not one of a speed test."""
    hint = f"hint: `forebay {NAME} --scenario` prints one, also with another --length; change only its network"
    return InputError(f"{message}\n{hint}")


def _head(line: AccessLine, duration_s: float, down: Phase, up: Phase) -> str:
    on = [f"from {phase.start_s:g} s to {phase.end_s:g} s" for phase in (down, up)]
    return f"""\
# A speed test: pings, downloads {on[0]}, uploads {on[1]}.
# Rates and latencies under load are measured from {down.measured_s:g} s and {up.measured_s:g} s on. Change the network
# as you like; `forebay speedtest` needs the flows, the duration and the probes as they are.
#
# Try:  forebay {NAME} {NAME}.toml --out out/{NAME}
#       forebay plot out/{NAME}
name = "{NAME}"
description = "{line.description}"
duration = "{time_text(duration_s)}"
"""


def _load(load: Load, source: str, sink: str, phase: Phase) -> str:
    return f"""\
[[flows]]
name = "{load.flows}"
count = {load.streams}
from = "{source}"
to = "{sink}"
start = "{time_text(phase.start_s)}"
stagger = "{time_text(STAGGER_S)}"
stop = "{time_text(phase.end_s)}"
transport = "tcp"
"""


def _ping(name: str, start_s: float, stop_s: float) -> str:
    return f"""\
[[flows]]
name = "{name}"
from = "{CLIENT}"
to = "{SERVER}"
start = "{time_text(start_s)}"
stop = "{time_text(stop_s)}"
transport.udp = {{ ping = {{ interval = "{time_text(_PING_S)}", timeout = "{time_text(TIMEOUT_S)}" }} }}
"""
