"""The scenarios of flent's tests. Flows have the names of flent's data series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from forebay.access_line import CLIENT, SERVER, AccessLine, time_text
from forebay.display.names import remedy_for
from forebay.display.texts import seconds
from forebay.errors import InputError
from forebay.scenario import Scenario

Test = Literal["rrul", "rrul_be", "tcp_nup", "tcp_ndown"]
TESTS: tuple[str, ...] = get_args(Test)

STEP_S = 0.2
"""How often flent samples."""
DELAY_S = 5.0
"""Pings begin so long before the load and end so long after it."""

UPLOAD, DOWNLOAD, PING = "TCP upload", "TCP download", "Ping (ms)"
"""The beginnings of the names of flent's series."""

_CLASSES = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}
"""The DSCP of each of RRUL's marks."""


@dataclass(frozen=True)
class _Group:
    name: str
    dscp: int = 0
    count: int | None = None


def flent_scenario(
    test: Test,
    *,
    down: str = AccessLine.down,
    up: str = AccessLine.up,
    rtt: str = AccessLine.rtt,
    queue: str = AccessLine.queue,
    streams: int | None = None,
    length: str = "60 s",
) -> Scenario:
    """Return the scenario of one of flent's tests on an access line.

    Args:
        test: `"rrul"`, four uploads and four downloads in the classes BE, BK, CS5 and EF, with pings in three of them;
            `"rrul_be"`, the same in one class; `"tcp_nup"` or `"tcp_ndown"`, some uploads or downloads and a ping.
        down: Rate of the line to the home.
        up: Rate of the line from the home.
        rtt: Round-trip time without queues and transmissions.
        queue: Discipline on both lines, by its bare name. `"cake"` shapes to 95 % of the line's rate.
        streams: Number of uploads of `"tcp_nup"`, or of downloads of `"tcp_ndown"`; 4 by default. The others have four
            in each direction.
        length: Length of the load. Pings begin 5 s before it and end 5 s after it.

    Raises:
        InputError: If there is no such test, or a value is out of bounds.

    Example:
        >>> scenario = fb.flent_scenario("rrul", queue="fq_codel", length="2 s")
        >>> len(scenario.flows)
        12
        >>> result = fb.run(scenario)
        >>> result.pings.get_column("name").to_list()
        ['Ping (ms) UDP EF', 'Ping (ms) UDP BK', 'Ping (ms) UDP BE', 'Ping (ms) ICMP']

    """
    text = scenario_text(test, down=down, up=up, rtt=rtt, queue=queue, streams=streams, length=length)
    return Scenario.from_toml(text, file_name=f"{test}.toml")


def scenario_text(test: str, *, down: str, up: str, rtt: str, queue: str, streams: int | None, length: str) -> str:
    """Return the scenario as a file. Its values are checked when it is loaded."""
    if test not in TESTS:
        message = f"there is no test {test!r}\nhint: {remedy_for(test, TESTS)}"
        raise InputError(message)
    line = AccessLine(down=down, up=up, rtt=rtt, queue=queue)
    if streams is not None and test not in ("tcp_nup", "tcp_ndown"):
        message = f"{test} has four streams in each direction\nhint: tcp_nup and tcp_ndown take a number of streams"
        raise InputError(message)
    load_s = seconds(length, "length")
    uploads, downloads, pings = _groups(test, streams or 4)
    parts = [
        _head(test, line.description, load_s),
        line.topology(),
        *(_load(group, CLIENT, SERVER, load_s) for group in uploads),
        *(_load(group, SERVER, CLIENT, load_s) for group in downloads),
        *(_ping(group) for group in pings),
        f'[probes]\ninterval = "{time_text(STEP_S)}"\nseries = ["flows", "queues"]\n',
    ]
    return "\n".join(parts)


def _groups(test: str, streams: int) -> tuple[Sequence[_Group], Sequence[_Group], Sequence[_Group]]:
    """Return uploads, downloads and pings."""
    icmp = _Group(f"{PING} ICMP")
    if test == "tcp_nup":
        return [_Group(UPLOAD, count=streams)], [], [icmp]
    if test == "tcp_ndown":
        return [], [_Group(DOWNLOAD, count=streams)], [icmp]
    if test == "rrul_be":
        marks = dict.fromkeys(("BE", "BE2", "BE3", "BE4"), 0)
        probes = dict.fromkeys(("BE1", "BE2", "BE3"), 0)
    else:
        marks = _CLASSES
        probes = {mark: _CLASSES[mark] for mark in ("EF", "BK", "BE")}
    uploads, downloads = ([_Group(f"{way} {mark}", dscp) for mark, dscp in marks.items()] for way in (UPLOAD, DOWNLOAD))
    return uploads, downloads, [*(_Group(f"{PING} UDP {mark}", dscp) for mark, dscp in probes.items()), icmp]


def _head(test: str, line: str, load_s: float) -> str:
    about = {
        "rrul": "four uploads and four downloads in four classes, with pings",
        "rrul_be": "four uploads and four downloads in one class, with pings",
        "tcp_nup": "uploads and a ping",
        "tcp_ndown": "downloads and a ping",
    }
    return f"""\
# {test} of flent: {about[test]}. The load begins at 5 s and ends 5 s before the run.
#
# Try:  forebay run {test}.toml --out out/{test}
#       forebay plot out/{test}
#       forebay export out/{test}
name = "{test}"
description = "{test} of flent: {line}"
duration = "{time_text(load_s + 2 * DELAY_S)}"
warmup = "{time_text(DELAY_S)}"
"""


def _load(group: _Group, source: str, sink: str, load_s: float) -> str:
    return f"""\
[[flows]]
name = "{group.name}"
{_count_and_class(group)}from = "{source}"
to = "{sink}"
start = "{time_text(DELAY_S)}"
stop = "{time_text(DELAY_S + load_s)}"
transport = "tcp"
"""


def _ping(group: _Group) -> str:
    # A byte of data, as in netperf's UDP_RR, and the headers of UDP and IP.
    udp = '{ packet = "29 B", ping = { interval = "on_answer" } }'
    icmp = f'{{ ping = {{ interval = "{time_text(STEP_S)}" }} }}'
    return f"""\
[[flows]]
name = "{group.name}"
{_count_and_class(group)}from = "{CLIENT}"
to = "{SERVER}"
transport.udp = {icmp if group.name.endswith("ICMP") else udp}
"""


def _count_and_class(group: _Group) -> str:
    count = "" if group.count is None else f"count = {group.count}\n"
    return count + (f"class = {group.dscp}\n" if group.dscp else "")
