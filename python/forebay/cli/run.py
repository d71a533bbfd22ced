"""`forebay run`: one scenario, under one seed or several."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import forebay
from forebay import display, runs, sweeps
from forebay.errors import InputError
from forebay.folder import RESULT_FILE, NotWrittenError
from forebay.runs.seeds import MOST_SEEDS
from forebay.storage.document import Document, document_of, json_parts, json_text

from . import interrupt, terminal
from .options import AllowPython, AsJson, EveryRow, Jobs, Overrides, Seed, folder_of, pairs, where_of
from .sweep import DONE, SOME_FAILED, run_shown

if TYPE_CHECKING:
    from forebay.scenario import Scenario


def run(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.")],
    overrides: Overrides = None,
    seed: Seed = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Run under N seeds and print means with intervals."
        ),
    ] = None,
    jobs: Jobs = None,
    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            metavar="N",
            show_default=False,
            help="At most N threads for the run; the results are the same. Default: one.",
        ),
    ] = 1,
    every_row: EveryRow = False,
    as_json: AsJson = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Save results in this folder: Parquet, JSON, traces.")
    ] = None,
    allow_python: AllowPython = False,
) -> None:
    """Run a scenario and print the results of its flows, queues and links."""
    folder = folder_of(out)
    checked = forebay.Scenario.load(scenario, pairs(overrides), allow_python=allow_python)
    if seeds is not None:
        if threads != 1:
            message = "--seeds has one thread for each run\nhint: --jobs N says how many run at a time"
            raise InputError(message)
        raise typer.Exit(_run_seeds(checked, seed, seeds, jobs, folder, every_row=every_row, as_json=as_json))
    if jobs is not None:
        message = "--jobs needs --seeds\nhint: for a single run, --threads N"
        raise InputError(message)
    older = folder is not None and (folder / RESULT_FILE).exists()
    interrupt.tells(lambda: _stopped_run(folder, older=older))
    unsaved: NotWrittenError | None = None
    with terminal.progress(checked.name) as bar:
        if folder is None:
            document = document_of(
                runs.single.run_core(checked, seed=seed, threads=threads, progress=bar.mover, arrays=False)
            )
        else:
            try:
                ran = forebay.run(checked, seed=seed, threads=threads, out=folder, progress=bar.mover)
                document = ran.to_rows()
                interrupt.tells(lambda: f"stopped after the end of the run; its results are in {folder}")
            except NotWrittenError as error:
                if error.result is None:
                    raise
                document, unsaved = error.result.to_rows(), error
    if as_json:
        terminal.write_parts(json_parts(document))
    else:
        terminal.show(*display.summary.result_tables(document, terminal.output().width, every=every_row))
    if unsaved is not None:
        raise unsaved
    if out is not None:
        terminal.note(f"written to {out}; `forebay plot {out}` draws its figures")


def _stopped_run(folder: Path | None, *, older: bool) -> str:
    kept = f"; the older results in {folder} are unchanged" if older else ""
    return f"stopped before the end of the run; nothing was written{kept}\nhint: the same command starts again"


def _run_seeds(
    scenario: "Scenario",
    seed: int | None,
    seeds: int,
    jobs: int | None,
    out: Path | None,
    *,
    every_row: bool,
    as_json: bool,
) -> int:
    """Run, print means with intervals, and return the exit status. With `out`, the folder is that of a sweep."""
    result, documents = sweeps.seeds.sweep_seeds(
        scenario, seed, seeds, lambda plan, take: run_shown(plan, out, where_of(jobs), on_outcome=take)
    )
    _print(documents, every_row=every_row, as_json=as_json)
    if failures := sweeps.table.failures_text(result):
        terminal.note(failures)
    if out is not None:
        result.save(out)
        terminal.note(f"written to {out}: runs.parquet has all numbers, and runs/ each run")
    return DONE if result.failures.is_empty() else SOME_FAILED


def _print(documents: list[Document], *, every_row: bool, as_json: bool) -> None:
    if not documents:
        return
    if as_json:
        terminal.write(json_text(display.summary.seeds_document(documents)))
    else:
        terminal.show(*display.summary.seeds_tables(documents, terminal.output().width, every=every_row))
