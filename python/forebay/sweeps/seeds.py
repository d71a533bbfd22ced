"""One scenario under several seeds, which is a sweep in which nothing varies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from forebay import display
from forebay.errors import ControllerError, DisciplineError, InputError
from forebay.runs.mean import mean_rows
from forebay.runs.outcome import Outcome
from forebay.runs.workers import Where
from forebay.scenario import Scenario
from forebay.storage.document import TABLES, Document, json_text, rows_of

from .plan import Plan, Request, make_plan
from .result import Sweep
from .run import OnOutcome, run_plan


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
    transfers: pl.DataFrame = field(repr=False)
    """One row per flow with `app.transfers`, with the columns of `Result.transfers`. Empty without such flows."""
    videos: pl.DataFrame = field(repr=False)
    """One row per flow with `app.video`, with the columns of `Result.videos`. Empty without such flows."""
    pages: pl.DataFrame = field(repr=False)
    """One row per flow with `app.web`, with the columns of `Result.pages`. Empty without such flows."""
    pings: pl.DataFrame = field(repr=False)
    """One row per ping, with the columns of `Result.pings`. Empty without pings."""
    completion_times: pl.DataFrame = field(repr=False)
    """One row per group and range of sizes, with the columns of `Result.completion_times`. Empty without flows of a
    given size."""
    equal_paths: pl.DataFrame = field(repr=False)
    """One row per link of each set of equal next hops, with the columns of `Result.equal_paths`. Empty without such a
    set."""
    collectives: pl.DataFrame = field(repr=False)
    """One row per repetition of a collective operation, and per trace, with the columns of `Result.collectives`. Empty
    without such groups."""
    ranks: pl.DataFrame = field(repr=False)
    """One row per host of a group whose messages wait for others, with the columns of `Result.ranks`. Empty without
    such groups."""
    sweep: Sweep = field(repr=False)
    """The same runs as a sweep of one point: `sweep.runs` has the metrics and the digest of each run."""
    _documents: list[Document] = field(repr=False)

    @property
    def failures(self) -> pl.DataFrame:
        """The runs that failed: `seed` and `error`."""
        return self.sweep.failures.select("seed", "error")

    def to_dict(self) -> Document:
        """Return the tables and the digest of each run as plain values, with None for a value that does not exist."""
        return display.summary.seeds_document(self._documents)

    def to_json(self) -> str:
        """Return `to_dict` as one JSON document, as `forebay run --seeds --json` prints it."""
        return json_text(self.to_dict())

    def _repr_html_(self) -> str:
        return display.notebook.html(lambda width: display.summary.seeds_tables(self._documents, width))


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

    def step(done: int, runs: int) -> None:
        if progress is not None:
            progress(done / runs)

    result, documents = sweep_seeds(
        scenario,
        seed,
        seeds,
        lambda plan, take: run_plan(plan, out, where=Where(jobs), progress=step, on_outcome=take),
    )
    if out is not None:
        result.save(out)
    if not documents:
        kind, _, message = result.failures["error"].item(0).partition(": ")
        errors = {"DisciplineError": DisciplineError, "ControllerError": ControllerError}
        raise errors.get(kind, InputError)(message)
    tables = {
        table: pl.DataFrame(mean_rows([document[table] for document in documents]), infer_schema_length=None)
        for table in TABLES
        if table != "queue_flows"
    }
    return SeededRuns(
        scenario=scenario.name,
        duration_s=scenario.duration_s,
        warmup_s=scenario.warmup_s,
        seeds=[document["seed"] for document in documents],
        **tables,
        sweep=result,
        _documents=documents,
    )


def sweep_seeds(
    scenario: Scenario, seed: int | None, seeds: int, run: Callable[[Plan, OnOutcome], Sweep]
) -> tuple[Sweep, list[Document]]:
    """Run a scenario under that many seeds from `seed` on; return the sweep, and the document of each run.

    `run` takes the plan, and the function that takes the outcome of each run.
    """
    scenario = scenario if seed is None else scenario.override({"seed": seed})
    found: dict[int, Document] = {}
    result = run(make_plan(scenario, Request({}, seeds=seeds)), _collector(scenario, found))
    return result, [found[seed] for seed in sorted(found)]


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
