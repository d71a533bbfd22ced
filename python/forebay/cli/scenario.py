"""`forebay scenario`: a scenario, or keys of one, from the description of another program."""

import os
import shlex
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
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPOLOGY] [-- OPTIONS]",
            help="With --from-htsim: htsim's topology (.topo), and the options of htsim_uec behind `--`.",
            show_default=False,
        ),
    ] = None,
    *,
    from_tc: Annotated[
        str | None,
        typer.Option(
            "--from-tc",
            metavar="COMMANDS|FILE|-",
            help="tc commands, a file with them or with what `tc qdisc show` prints, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option("--dev", metavar="NAME", help="The interface. Default: the only one with a queue.")
    ] = None,
    from_htsim: Annotated[
        str | None,
        typer.Option(
            "--from-htsim",
            metavar="MATRIX",
            help="A connection matrix (.cm) of htsim. The scenario names this file.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the scenario of a run of htsim_uec, or the keys of a link, its queue among them, for tc commands of Linux.

    Comments name everything for which a scenario has no key.
    """
    if (from_tc is None) == (from_htsim is None):
        message = "nothing to translate" if from_tc is None else "two sources at once"
        raise InputError(f"{message}\nhint: give either --from-tc or --from-htsim")
    if from_htsim is None:
        if arguments:
            raise InputError(f"`{arguments[0]}` has no effect on --from-tc\nhint: quote the commands")
        text, name = _read(from_tc or "")
        terminal.write(_core.link_from_tc(text, name, device).rstrip())
        return
    if device is not None:
        raise InputError("--dev has no effect on --from-htsim\nhint: it chooses an interface of --from-tc")
    topology, options = _topology_of([word for text in arguments or [] for word in shlex.split(text)])
    hint = "give the files of htsim: a matrix (.cm), a topology (.topo)"
    matrix = (_content(from_htsim, hint), from_htsim)
    network = None if topology is None else (_content(topology, hint), topology)
    terminal.write(_core.scenario_from_htsim(matrix, network, shlex.join(options)).rstrip())


def _topology_of(words: list[str]) -> tuple[str | None, list[str]]:
    """Return the file of the topology, which comes first or behind `-topo`, and the other words."""
    if words and not words[0].startswith("-"):
        return words[0], words[1:]
    if "-topo" in words[:-1]:
        at = words.index("-topo")
        return words[at + 1], words[:at] + words[at + 2 :]
    return None, words


def _read(source: str) -> tuple[str, str]:
    """Return the text of the option, and its name in messages."""
    if source == _STANDARD_INPUT:
        return _decoded(sys.stdin.buffer.read(), "standard input", "commands of tc"), "standard input"
    # Commands have spaces. The name of a file may have some, too. Long texts are no names, which `Path` would refuse.
    if " " in source and not os.path.isfile(source):  # noqa: PTH113
        return source, "--from-tc"
    return _content(source, "give tc commands, a file with them, or - for standard input"), source


def _content(source: str, hint: str) -> str:
    try:
        return _decoded(Path(source).read_bytes(), source, hint.removeprefix("give "))
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror}\nhint: {hint}") from None


def _decoded(content: bytes, name: str, expected: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InputError(f"{name} is not a text in UTF-8\nhint: expected {expected}") from None
