"""`forebay live …`: all but `top` is the program `forebay-live`, which takes the place of this one."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from forebay.cli import interrupt, live, terminal
from forebay.errors import InputError

PROGRAM = "forebay-live"
SOCKET = Path("/run/forebay/live.sock")
"""Where `forebay-live` listens unless its configuration says otherwise."""

_PASSED_ON = {
    "check": "Check a configuration, and what it needs of this machine, without touching anything.",
    "show": "Show what is really running: interfaces, rates, disciplines with all parameters.",
    "stats": "Show the counters.",
    "set": "Change settings of a direction while it runs.",
    "reload": "Read the configuration file again.",
    "confirm": "Keep the change that waits for confirmation.",
    "rollback": "Undo the change that waits for confirmation.",
    "bypass": "Let packets pass around the queues, or not.",
    "capture": "Write drops and marks as pcapng, with the reasons as comments.",
    "record": "Write arrivals as a record that `forebay replay` takes.",
    "ping": "Ask whether it answers.",
    "teardown": "Remove the bridge that has taken over where forebay-live ended.",
}


class _Group(TyperGroup):
    """A group whose first word may also be a configuration."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Take a configuration for the command that runs it."""
        if args and args[0] not in self.commands and (args[0].endswith(".toml") or Path(args[0]).exists()):
            return "run", self.commands["run"], args
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    help="Put a queue on real traffic between two interfaces of this machine. [bold]forebay live CONFIG.toml[/] "
    "starts it; the commands below ask it while it runs.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def program() -> Path:
    """Return where `forebay-live` is: next to Python, or in PATH. Raises InputError if it is nowhere."""
    beside = Path(sys.executable).with_name(PROGRAM)
    if beside.is_file() and os.access(beside, os.X_OK):
        return beside
    found = shutil.which(PROGRAM)
    if found is None:
        message = (
            f"the program {PROGRAM} is neither next to {sys.executable} nor in PATH"
            "\nhint: in a checkout of Forebay, `cargo install --path crates/live` installs it"
        )
        raise InputError(message)
    return Path(found)


def become(words: list[str]) -> NoReturn:
    """Let `forebay-live` take the place of this process. Raises InputError if it cannot."""
    path = program()
    sys.stdout.flush()
    try:
        os.execv(path, [str(path), *words])  # noqa: S606 - no shell: the words are ours
    except OSError as error:
        message = f"{path} cannot be started: {error.strerror}\nhint: is it built for this machine?"
        raise InputError(message) from None


_AS_THEY_ARE = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command(name="run", hidden=True, context_settings=_AS_THEY_ARE)
def _run(context: typer.Context) -> None:
    """Run a configuration."""
    become(["run", *context.args])


def _pass_on(name: str, text: str) -> None:
    @app.command(name=name, help=text, context_settings=_AS_THEY_ARE)
    def _passed_on(context: typer.Context) -> None:
        become([name, *context.args])


for _name, _text in _PASSED_ON.items():
    _pass_on(_name, _text)


@app.command()
def top(
    socket: Annotated[
        Path, typer.Option("--socket", metavar="PATH", help="The control socket of the forebay-live to watch.")
    ] = SOCKET,
    once: Annotated[bool, typer.Option("--once", help="Print one second's numbers and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counters as JSON and exit.")] = False,
) -> None:
    """Watch queues and flows, refreshed each second, until Ctrl-C."""
    interrupt.tells(lambda: "stopped watching; forebay-live goes on")
    with live.connection.Connection(socket) as connection:
        if as_json:
            terminal.write(json.dumps(connection.ask({"command": "stats"}), indent=2))
        else:
            live.top.watch(connection, once=once)
