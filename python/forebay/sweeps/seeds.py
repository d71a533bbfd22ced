"""`forebay run --seeds`: one scenario under several seeds, which is a sweep in which nothing varies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from forebay import terminal
from forebay.document import Document, json_text, rows_of
from forebay.errors import DisciplineError, InputError
from forebay.runs.mean import mean_rows
from forebay.runs.outcome import Outcome
from forebay.runs.workers import Where
from forebay.scenario import Scenario

from .command import ALL_RUN, SOME_FAILED, run_shown
from .plan import Request, make_plan
from .result import Sweep
from .run import run_plan
from .table import failures_text


@dataclass(frozen=True, eq=False)
class SeededRuns:
    """One scenario under several seeds.

    Numbers of the tables are means over seeds. A column `…_ci95` has half the width of the 95 % confidence interval of
    its base column, or null with fewer than two seeds.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> runs = fb.run("examples/first.toml", overrides=short, seeds=3)
        >>> runs.seeds
        [1, 2, 3]
        >>> runs.queues.select("name", "length_mean_packets_ci95").width
        2

    """

    scenario: str
    """Name of the scenario."""
    duration_s: float
    """Simulated time of each run in seconds."""
    warmup_s: float
    """Seconds at the start that tables leave out."""
    seeds: list[int]
    """The seeds of the runs that succeeded."""
    flows: pl.DataFrame = field(repr=False)
    """One row per flow, with the columns of `Result.flows`."""
    queues: pl.DataFrame = field(repr=False)
    """One row per queue, with the columns of `Result.queues`."""
    links: pl.DataFrame = field(repr=False)
    """One row per link, with the columns of `Result.links`."""
    adapters: pl.DataFrame = field(repr=False)
    """One row per adapter of an Ethernet, with the columns of `Result.adapters`. Empty in other networks."""
    sweep: Sweep = field(repr=False)
    """The same runs as a sweep of one point: `sweep.runs` has the metrics and the digest of each run."""
    _documents: list[Document] = field(repr=False)

    @property
    def failures(self) -> pl.DataFrame:
        """The runs that failed: `seed` and `error`."""
        return self.sweep.failures.select("seed", "error")

    def to_dict(self) -> Document:
        """Return the tables and the digest of each run as plain values, with None for a value that does not exist."""
        from forebay.summary import seeds_document

        return seeds_document(self._documents)

    def to_json(self) -> str:
        """Return `to_dict` as one JSON document, as `forebay run --seeds --json` prints it."""
        return json_text(self.to_dict())

    def _repr_html_(self) -> str:
        from forebay.notebook import html
        from forebay.summary import seeds_tables

        return html(lambda width: seeds_tables(self._documents, width))


def run_under_seeds(
    scenario: Scenario,
    *,
    seed: int | None,
    seeds: int,
    jobs: int | None,
    out: Path | None,
    progress: Callable[[float], object] | None,
) -> SeededRuns:
    """Run a scenario under that many seeds from `seed` on, as `forebay.run` does."""
    scenario = _from_seed(scenario, seed)
    found: dict[int, Document] = {}

    def step(done: int, runs: int) -> None:
        if progress is not None:
            progress(done / runs)

    plan = make_plan(scenario, Request({}, seeds=seeds))
    sweep = run_plan(plan, out, where=Where(jobs), progress=step, on_outcome=_collector(scenario, found))
    if out is not None:
        sweep.save(out)
    if not found:
        kind, _, message = sweep.failures["error"].item(0).partition(": ")
        raise (DisciplineError if kind == "DisciplineError" else InputError)(message)
    documents = [found[seed] for seed in sorted(found)]
    tables = {
        table: pl.DataFrame(mean_rows([document[table] for document in documents]), infer_schema_length=None)
        for table in ("flows", "queues", "links", "adapters")
    }
    return SeededRuns(
        scenario=scenario.name,
        duration_s=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        seeds=sorted(found),
        **tables,
        sweep=sweep,
        _documents=documents,
    )


def run_seeds(
    scenario: Scenario,
    seed: int | None,
    seeds: int,
    jobs: int | None,
    *,
    every_row: bool = False,
    as_json: bool,
    out: Path | None,
) -> int:
    """Run, print means with intervals, and return the exit status. Raises InputError and ScenarioError.

    With `out`, the folder is that of a sweep.
    """
    scenario = _from_seed(scenario, seed)
    found: dict[int, Document] = {}
    plan, where = make_plan(scenario, Request({}, seeds=seeds)), Where(jobs, may_start_processes=True)
    result = run_shown(plan, out, where, on_outcome=_collector(scenario, found))
    documents = [found[seed] for seed in sorted(found)]
    _print(documents, every_row=every_row, as_json=as_json)
    if failures := failures_text(result):
        terminal.note(failures)
    if out is not None:
        result.save(out)
        terminal.note(f"written to {out}: runs.parquet has all numbers, and runs/ each run")
    return ALL_RUN if result.failures.is_empty() else SOME_FAILED


def _print(documents: list[Document], *, every_row: bool, as_json: bool) -> None:
    from forebay.summary import EVERY, FEW, seeds_document, seeds_tables

    if not documents:
        return
    if as_json:
        terminal.write(json_text(seeds_document(documents)))
    else:
        terminal.show(*seeds_tables(documents, terminal.output().width, EVERY if every_row else FEW))


def _from_seed(scenario: Scenario, seed: int | None) -> Scenario:
    return scenario if seed is None else scenario.override({"seed": seed})


def _collector(scenario: Scenario, found: dict[int, Document]) -> Callable[[int, int, Outcome], None]:
    """Return a function that puts the document of each run into `found`, by its seed."""

    def take(_point: int, seed: int, outcome: Outcome) -> None:
        found[seed] = {
            "scenario": scenario.name,
            "duration_s": scenario.duration_s,
            "warmup_s": scenario.warmup_s,
            "seed": seed,
            "digest": outcome.digest,
            **{table: rows_of(columns) for table, columns in outcome.tables.items()},
        }

    return take
