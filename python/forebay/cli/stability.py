"""`forebay stability`: whether ECM holds a queue at its set-point."""

from pathlib import Path
from typing import Annotated

import typer

from forebay import fluid_model

from . import interrupt, terminal
from .options import AsJson, Overrides, ScenarioFile, Seed, folder_of, pairs

UNSTABLE = 1


def stability(
    scenario: ScenarioFile,
    *,
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue", metavar="LINK", help="Queue to judge, by its link. Default: that of the most overloaded port."
        ),
    ] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    packets: Annotated[
        bool, typer.Option("--packets/--no-packets", help="Also simulate the scenario, and draw it with the model.")
    ] = True,
    as_json: AsJson = False,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Folder for table and figure. Default: out/stability/<scenario>."),
    ] = None,
) -> None:
    """Judge by a fluid model whether ECM holds a queue at its set-point, and draw it with the packet simulation.

    Exit status 1: it does not.
    """
    folder = folder_of(out)
    interrupt.tells(lambda: "stopped; nothing was written\nhint: the same command starts again")
    changes = pairs(overrides)
    stem = fluid_model.result.STEM
    target = folder or Path("out") / stem / scenario.stem
    with terminal.progress("packets") as bar:
        judged = fluid_model.judge_stability(
            scenario, queue=queue, overrides=changes, seed=seed, packets=packets, out=target, progress=bar.mover
        )
    terminal.show_result(judged, lambda _width: fluid_model.table.terminal_tables(judged), as_json=as_json)
    terminal.note(f"written to {target}: {stem}.png and .svg are the figure, .csv and .json the data")
    if not judged.stable:
        raise typer.Exit(UNSTABLE)
