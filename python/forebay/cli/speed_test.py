"""`forebay speedtest`: the rates and latencies of an access line, as a speed test measures them."""

from pathlib import Path
from typing import Annotated

import typer

import forebay
from forebay import speed_tests
from forebay.access_line import AccessLine
from forebay.errors import InputError

from . import terminal
from .options import AsJson, Seed, folder_of


def speedtest(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    scenario: Annotated[
        Path | None,
        typer.Argument(metavar="SCENARIO.toml", help="A changed copy of what --scenario prints.", show_default=False),
    ] = None,
    down: Annotated[
        str | None,
        typer.Option("--down", metavar="RATE", help=f"Rate of the line to the home. Default: {AccessLine.down}."),
    ] = None,
    up: Annotated[
        str | None,
        typer.Option("--up", metavar="RATE", help=f"Rate of the line from the home. Default: {AccessLine.up}."),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option("--rtt", metavar="TIME", help=f"Round-trip time without queues. Default: {AccessLine.rtt}."),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="NAME", help=f"Discipline on both lines. Default: {AccessLine.queue}."),
    ] = None,
    length: Annotated[
        str | None,
        typer.Option("--length", metavar="TIME", help=f"Length of each load. Default: {speed_tests.scenario.LENGTH}."),
    ] = None,
    seed: Seed = None,
    print_scenario: Annotated[bool, typer.Option("--scenario", help="Print the scenario; run nothing.")] = False,
    as_json: AsJson = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Save the run in this folder; forebay plot draws it.")
    ] = None,
) -> None:
    """Test the speed of an access line: its rate in each direction, and its latency when idle and under load.

    Pings, then six downloads, then three uploads. [bold]--scenario[/] prints the test, to change its network.
    """
    folder = folder_of(out)
    options = {"down": down, "up": up, "rtt": rtt, "queue": queue, "length": length}
    given = {key: value for key, value in options.items() if value is not None}
    if scenario is not None:
        if given or print_scenario:
            option = next(iter(given), "scenario")
            message = f"--{option} is for a test without a scenario file\nhint: change the file instead"
            raise InputError(message)
        checked = forebay.Scenario.load(scenario)
        speed_tests.scenario.check(checked)
    else:
        of_load = given.pop("length", speed_tests.scenario.LENGTH)
        text = speed_tests.scenario.scenario_text(AccessLine(**given), of_load)
        checked = forebay.Scenario.from_toml(text, file_name=f"{speed_tests.scenario.NAME}.toml")
        if print_scenario:
            _refuse_options_of_a_run(seed=seed, json=as_json or None, out=out)
            terminal.write(text.rstrip())
            return
    with terminal.progress(checked.name) as bar:
        result = forebay.run(checked, seed=seed, out=folder, progress=bar.mover)
    measured = forebay.speed_test(result)
    terminal.show_result(
        measured, lambda _width: speed_tests.table.terminal_tables(measured, checked.description), as_json=as_json
    )
    if out is not None:
        terminal.note(f"written to {out}; `forebay plot {out}` draws its figures")


def _refuse_options_of_a_run(**options: object) -> None:
    """Raise InputError if one of the options is given."""
    for option, value in options.items():
        if value is not None:
            message = f"--{option} is for a run, and --scenario runs nothing\nhint: leave out one of them"
            raise InputError(message)
