"""`forebay speedtest`: the rates and latencies of an access line, as a speed test measures them."""

from pathlib import Path
from typing import Annotated

import typer

import forebay
from forebay import access_line, speed_tests
from forebay.errors import InputError

from . import terminal
from .options import AsJson, Seed, folder_of

_LINE = {"down": "50 Mbps", "up": "10 Mbps", "rtt": "40 ms", "queue": "drop_tail"}


def speedtest(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    scenario: Annotated[
        Path | None,
        typer.Argument(metavar="SCENARIO.toml", help="A changed copy of what --scenario prints.", show_default=False),
    ] = None,
    down: Annotated[
        str | None, typer.Option("--down", metavar="RATE", help="Rate of the line to the home. Default: 50 Mbps.")
    ] = None,
    up: Annotated[
        str | None, typer.Option("--up", metavar="RATE", help="Rate of the line from the home. Default: 10 Mbps.")
    ] = None,
    rtt: Annotated[
        str | None, typer.Option("--rtt", metavar="TIME", help="Round-trip time without queues. Default: 40 ms.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="NAME", help="Discipline on both lines. Default: drop_tail.")
    ] = None,
    length: Annotated[
        str | None, typer.Option("--length", metavar="TIME", help="Length of each load. Default: 10 s.")
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
        values = {**_LINE, "length": "10 s", **given}
        of_load = values.pop("length")
        text = speed_tests.scenario.scenario_text(access_line.AccessLine(**values), of_load)
        checked = forebay.Scenario.from_toml(text, file_name=f"{speed_tests.scenario.NAME}.toml")
        if print_scenario:
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
