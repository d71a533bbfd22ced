"""`forebay tc`: a scenario's queue as commands for Linux."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

import forebay
from forebay import _core
from forebay.display.names import listed, remedy_for
from forebay.errors import InputError

from . import terminal
from .options import Overrides, ScenarioFile, pairs

if TYPE_CHECKING:
    from forebay.scenario import Scenario

# Names of interfaces that the kernel accepts and a shell reads as one word.
_DEVICE = re.compile(r"[A-Za-z0-9_.@:-]{1,15}")
_PREFERRED = "bottleneck"
PACKET_BYTES = 1500


def tc(
    scenario: ScenarioFile,
    *,
    device: Annotated[str, typer.Option("--dev", metavar="NAME", help="The interface of Linux.")] = "eth0",
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue", metavar="LINK", help="Queue to set up, by its link. Default: the bottleneck's, or the only one."
        ),
    ] = None,
    packet: Annotated[
        int,
        typer.Option(
            "--packet",
            metavar="BYTES",
            min=40,
            max=65_535,
            help="Size of a packet, where Linux counts bytes and the scenario packets, or the reverse.",
        ),
    ] = PACKET_BYTES,
    overrides: Overrides = None,
) -> None:
    """Print the tc commands that give an interface of Linux the rate and the queue of a link.

    The output is a shell script. Its comments name everything that Linux does differently or does not have.
    """
    loaded = forebay.Scenario.load(scenario, pairs(overrides))
    commands = tc_commands(loaded, device=device, queue=queue, packet_bytes=packet)
    terminal.write(commands.rstrip())


def tc_commands(
    scenario: "Scenario", *, device: str = "eth0", queue: str | None = None, packet_bytes: int = PACKET_BYTES
) -> str:
    """Return the `tc` commands that give an interface of Linux the rate and the queue of one of the scenario's links.

    Args:
        scenario: The scenario.
        device: Name of the interface.
        queue: Name of the link whose queue is set up. Default: the bottleneck, or the only link with a queue.
        packet_bytes: Size of a packet, where Linux counts bytes and the scenario packets.

    Raises:
        InputError: If there is no such queue, or if several are to choose from.

    """
    if not _DEVICE.fullmatch(device):
        message = f"{device!r} is not the name of an interface\nhint: `ip link` lists those of this machine"
        raise InputError(message)
    link = _chosen(scenario) if queue is None else queue
    source = (scenario.text, scenario.file_name, scenario.overrides)
    commands = _core.tc_commands(*source, link, device, packet_bytes)
    if commands is None:
        message = f"the scenario has no link named {link}\nhint: {remedy_for(link, scenario.links)}"
        raise InputError(message)
    return commands


def _chosen(scenario: "Scenario") -> str:
    described = _core.described_queues(scenario.text, scenario.file_name, scenario.overrides)
    if len(described) == 1:
        return described[0]
    if _PREFERRED in described or (not described and _PREFERRED in scenario.links):
        return _PREFERRED
    names = described or scenario.links
    count = f"{len(described)} links have a queue" if described else "no link has a queue of its own"
    message = f"{count}: choose one with --queue\nhint: there are {listed(names)}"
    raise InputError(message)
