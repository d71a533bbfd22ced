"""`forebay scenario`: keys of a scenario from the description of another program."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from forebay import _core
from forebay.errors import InputError

from . import terminal

# The name of standard input on a command line.
_STANDARD_INPUT = "-"


def scenario(
    *,
    from_tc: Annotated[
        str,
        typer.Option(
            "--from-tc",
            metavar="COMMANDS|FILE|-",
            help="tc commands, a file with them or with what `tc qdisc show` prints, or - for standard input.",
            show_default=False,
        ),
    ],
    device: Annotated[
        str | None, typer.Option("--dev", metavar="NAME", help="The interface. Default: the only one with a queue.")
    ] = None,
) -> None:
    """Print the keys of a link, its queue among them, for tc commands of Linux.

    Comments name everything for which a scenario has no key.
    """
    text, name = _read(from_tc)
    terminal.write(_core.link_from_tc(text, name, device).rstrip())


def _read(source: str) -> tuple[str, str]:
    """Return the text of the option, and its name in messages."""
    if source == _STANDARD_INPUT:
        return _decoded(sys.stdin.buffer.read(), "standard input"), "standard input"
    # Commands have spaces. The name of a file may have some, too. Long texts are no names, which `Path` would refuse.
    if " " in source and not os.path.isfile(source):  # noqa: PTH113
        return source, "--from-tc"
    try:
        return _decoded(Path(source).read_bytes(), source), source
    except OSError as error:
        message = (
            f"cannot read {source}: {error.strerror}\nhint: give tc commands, a file with them, or - for standard input"
        )
        raise InputError(message) from None


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        message = f"{name} is not a text in UTF-8\nhint: it should have the commands of tc, or its output"
        raise InputError(message) from None
