"""The command `forebay`."""

from typing import Annotated

import typer

from forebay import _core

from . import terminal
from .compare import compare
from .describe import explain, list_, schema
from .flent import export, flent
from .lab import lab
from .live.command import app as live
from .replay import replay
from .reproduce import reproduce
from .results import plot, report
from .run import run
from .scenario import scenario
from .size_buffer import size_buffer
from .speed_test import speedtest
from .stability import stability
from .sweep import sweep
from .tc import tc
from .trace import trace

app = typer.Typer(
    name="forebay",
    help="What will this queue do to my traffic? Simulates networks packet by packet, reproduces papers, and runs the "
    "same queue disciplines on captured packets.",
    epilog="Data go to standard output, messages to standard error. Exit status: 0 done, 1 a claim does not hold, "
    "2 bad input or a full disk, 3 an internal error, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(live, name="live")


def _version(asked: bool) -> None:
    if asked:
        terminal.write(f"forebay {_core.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options before the name of a command."""


app.command()(run)
app.command()(reproduce)
app.command()(compare)
app.command()(sweep)
app.command("size-buffer")(size_buffer)
app.command()(stability)
app.command()(tc)
app.command()(scenario)
app.command()(trace)
app.command()(speedtest)
app.command()(flent)
app.command()(export)
app.command("list")(list_)
app.command()(explain)
app.command()(schema)
app.command()(plot)
app.command()(report)
app.command()(replay)
app.command()(lab)
