"""Run an experiment of a paper from Python: its claims, tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from forebay import display, experiment
from forebay.folder import kept_in, named, staged
from forebay.runs.execute import Simulate, execute
from forebay.runs.seeds import MOST_SEEDS
from forebay.runs.store import Store
from forebay.runs.workers import Where
from forebay.storage.document import Document, json_text

from .coordinates import Coordinates
from .errors import ExperimentError
from .judge import ClaimResult, judge_all
from .load import list_experiments as list_all
from .load import load_experiment, select_experiments
from .plan import Plan, make_plan
from .python_code import prepared
from .refusal import refused_at_evaluation
from .report import count_line, experiment_json, write_experiment, write_scenarios, write_summary
from .runs import Runs
from .tables import measured_text, render_experiment, table_rows

if TYPE_CHECKING:
    from forebay.display.figure import Figure
    from forebay.runs.outcome import Outcome

OnStep = Callable[[int, int], object]
"""Called with the number of runs done and the number of all runs."""


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction:
    """An experiment of a paper with what was measured, and a verdict on each of the paper's claims.

    Measured numbers are means over seeds. A column `ci95` holds half the width of the 95 % confidence interval, or null
    with fewer than two seeds.

    Example:
        >>> bound = fb.reproduce("dbl/fig3", quick=True, seeds=1)
        >>> bound.title
        'Time to identify a belligerent flow'
        >>> bound.claims.select("claim", "verdict").rows()
        [('dbl/fig3-bound', 'reproduced')]
        >>> bound.figures
        ('fig3',)

    """

    _plan: Plan
    _runs: Runs
    _results: tuple[ClaimResult, ...]

    @property
    def experiment(self) -> str:
        """Name of the experiment: `dbl/table2`."""
        return self._plan.experiment.id

    @property
    def title(self) -> str:
        """Title of the experiment."""
        return self._plan.experiment.title

    @property
    def about(self) -> str:
        """Description of what is run, in a sentence or two."""
        return self._plan.experiment.about.strip()

    @property
    def paper(self) -> str:
        """The paper: its authors, its title and the year."""
        return self._plan.experiment.paper

    @property
    def where(self) -> str:
        """Place in the paper: table, figure or section."""
        return self._plan.experiment.where

    @property
    def quick(self) -> bool:
        """Whether the quick form ran: fewer seeds, and shorter runs if the experiment sets so."""
        return self._plan.quick

    @property
    def seeds(self) -> int:
        """Number of seeds of each run."""
        return self._plan.seeds

    @property
    def all_hold(self) -> bool:
        """Whether no claim is "not reproduced". Claims that are undecided or not judged do not count."""
        return all(result.verdict != "not reproduced" for result in self._results)

    @cached_property
    def claims(self) -> pl.DataFrame:
        """One row per claim: `claim`, `where`, `paper`, `band`, `measured`, `verdict`, `reason`.

        `paper` is the paper's own word or number, `band` the range in which the claim counts as reproduced. The verdict
        is "reproduced", "not reproduced", "undecided" or "not judged"; the last two have a `reason`.
        """
        rows = [
            {
                "claim": result.claim.id,
                "where": result.claim.where,
                "paper": result.claim.paper,
                "band": result.claim.band,
                "measured": measured_text(result),
                "verdict": result.verdict,
                "reason": result.reason or None,
            }
            for result in self._results
        ]
        names = ("claim", "where", "paper", "band", "measured", "verdict", "reason")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String))

    @cached_property
    def values(self) -> pl.DataFrame:
        """One row per value that decides a claim.

        Columns: `claim`, `check`, `at`, `band`, `value`, `ci95`, `unit`, `holds`, `undecided`. `at` is the variant and
        the value of the axis. A value `holds` if it is in the band. It is `undecided` if its interval is wider than the
        band and overlaps it.
        """
        rows = [
            {
                "claim": result.claim.id,
                "check": check.check.label,
                "at": finding.label,
                "band": check.check.band.text(),
                "value": finding.estimate.mean,
                "ci95": finding.estimate.ci95,
                "unit": check.unit,
                "holds": finding.holds,
                "undecided": finding.undecided,
            }
            for result in self._results
            for check in result.checks
            for finding in check.findings
        ]
        texts = dict.fromkeys(("claim", "check", "at", "band"), pl.String)
        kinds = {**texts, "value": pl.Float64, "ci95": pl.Float64, "unit": pl.String, "holds": pl.Boolean}
        kinds["undecided"] = pl.Boolean
        return pl.DataFrame(rows, schema=kinds)

    @cached_property
    def tables(self) -> pl.DataFrame:
        """One row per cell of the experiment's tables: `table`, `row`, `column`, `unit`, `paper`, `measured`, `ci95`.

        `paper` is the paper's number, null where it has none.
        """
        rows = [
            {
                "table": table.title,
                "row": row.label,
                "column": column.label,
                "unit": column.unit,
                "paper": _number(None if row.paper is None else row.paper[index]),
                "measured": row.measured[index].mean,
                "ci95": row.measured[index].ci95,
            }
            for table in self._plan.experiment.tables
            for row in table_rows(self._runs, table)
            for index, column in enumerate(table.columns)
        ]
        kinds: dict[str, Any] = dict.fromkeys(("table", "row", "column", "unit"), pl.String)
        return pl.DataFrame(rows, schema=kinds | dict.fromkeys(("paper", "measured", "ci95"), pl.Float64))

    @cached_property
    def choices(self) -> pl.DataFrame:
        """One row per parameter that the paper leaves open: `what`, the `value` taken, and `why`."""
        rows = [choice.model_dump() for choice in self._plan.experiment.choices]
        return pl.DataFrame(rows, schema=dict.fromkeys(("what", "value", "why"), pl.String))

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the experiment's figures, which `plot` takes."""
        return tuple(figure.file for figure in self._plan.experiment.figures)

    def plot(self, name: str | None = None) -> Figure:
        """Draw a figure in the paper's axes; without a name the first one.

        Raises:
            InputError: If there is no such figure.

        """
        figures = {figure.file: figure for figure in self._plan.experiment.figures}
        wanted = next(iter(figures), "") if name is None else name
        if wanted not in figures:
            message = f"{self.experiment} has no figure{f' {wanted!r}' if name else ''}"
            raise ExperimentError(message + (f"\nhint: it has {', '.join(figures)}" if figures else ""))
        return experiment.figures.draw_figure(self._runs, figures[wanted])

    def __repr__(self) -> str:
        return f"<Reproduction {self.experiment!r}: {count_line(list(self._results))}>"

    def _repr_html_(self) -> str:
        # The words of claims are wrapped by the page, so there is room for their verdicts next to them.
        claims = list(self._results)
        return display.notebook.html(lambda width: render_experiment(self._plan, self._runs, claims, width + 40))

    def to_dict(self) -> Document:
        """Return the claims with every value behind them as plain values, with None for a value that does not exist."""
        return experiment_json(self._plan, list(self._results))

    def to_json(self) -> str:
        """Return the same as JSON: an element of the list `experiments` of `forebay reproduce --json`."""
        return json_text(self.to_dict())

    def save(self, folder: str | PathLike[str]) -> None:
        """Write what `forebay reproduce --out` writes: page, figures, scenarios and claims.

        Raises:
            InputError: If the folder cannot be written.

        """
        path = named(folder)
        results = list(self._results)
        write_scenarios(self._plan, path / self.experiment)
        write_experiment(path / self.experiment, self._plan, self._runs, results)
        with staged(path) as staging:
            write_summary(staging, [experiment_json(self._plan, results)], results)


def reproduce(
    experiment: str | PathLike[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    dask: str | None = None,
    out: str | PathLike[str] | None = None,
    progress: OnStep | None = None,
    allow_python: bool = False,
) -> Reproduction:
    """Run an experiment of a paper and judge the paper's claims.

    Args:
        experiment: The name of an experiment, as `list_experiments` has it, or the path of an experiment file.
        quick: Run fewer seeds, and shorter runs if the experiment sets so.
        seeds: Seeds of each run, in place of the number in the experiment.
        jobs: Runs at a time. Default: one per core, or one per thread of a cluster.
        executor: Where to run, in place of threads: any executor, which stays open.
        dask: The address of a Dask scheduler, in place of threads: `"tcp://host:8786"`.
        out: A folder for page, figures and claims, as `forebay reproduce --out` writes them. It also keeps finished
            runs: the same call continues a stopped one.
        progress: Called with the number of runs done and the number of all runs.
        allow_python: Import and run the Python classes that the experiment file names.

    Returns:
        The claims with their verdicts, the tables and the figures.

    Raises:
        InputError: If there is no such experiment, if its file is wrong, or if the folder cannot be written.
        ScenarioError: If a scenario is not valid.
        DisciplineError: If a discipline written in Python fails.
        ControllerError: If a congestion controller written in Python fails.

    Example:
        >>> bound = fb.reproduce("dbl/fig3", quick=True, seeds=1)
        >>> bound.all_hold
        True
        >>> bound.values.select("check", "band", "holds").row(0)
        ('measured / formula', '<= 1', True)

    """
    return run_experiment(
        fspath(experiment),
        quick=quick,
        seeds=seeds,
        where=Where(jobs, executor, dask),
        out=out,
        progress=progress,
        allow_python=allow_python,
    )


def run_experiment(
    name: str,
    *,
    quick: bool,
    seeds: int | None,
    where: Where,
    out: str | PathLike[str] | None,
    progress: OnStep | None,
    allow_python: bool,
    simulate: Simulate | None = None,
) -> Reproduction:
    """Do the same as `reproduce`; `simulate` runs a scenario in place of the simulator."""
    path = _only(name)
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        message = f"seeds: must be from 1 to {MOST_SEEDS}, and is {seeds}"
        raise ExperimentError(message)
    plan = make_plan(load_experiment(path), quick=quick, seeds=seeds)
    (plan,), run, custom = prepared([plan], [path], allowed=allow_python, simulate=simulate)
    done = 0

    def step(*_: object) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(plan.jobs))

    found: dict[Coordinates, dict[int, Outcome]] = {}
    # Nothing is written before there is something to run on.
    with where.hire(len(plan.jobs), custom) as workers, kept_in(out) as folder:
        store = Store(folder / plan.experiment.id / "runs")
        finished = execute(plan.jobs, lambda _: store, run, workers=workers, on_done=step)
        with closing(finished):
            for job, outcome in finished:
                found.setdefault(job.key.at, {})[job.seed] = outcome
    outcomes = {at: [by_seed[seed] for seed in sorted(by_seed)] for at, by_seed in found.items()}
    runs = Runs(plan.experiment, quick, outcomes)
    try:
        result = Reproduction(plan, runs, tuple(judge_all(runs)))
    except ExperimentError as error:
        raise refused_at_evaluation(plan.experiment, error) from error
    if out is not None:
        result.save(out)
    return result


def list_experiments() -> pl.DataFrame:
    """Return the experiments that `reproduce` runs, one row per experiment.

    The columns are `experiment` (the name), `title`, `paper`, `where` and `claims` (their number).

    Example:
        >>> listed = fb.list_experiments()
        >>> listed.filter(experiment="dbl/table2")["where"].item()
        'Table 2, section 4.2'

    """
    rows = [
        {"experiment": one.id, "title": one.title, "paper": one.paper, "where": one.where, "claims": one.claims}
        for one in list_all()
    ]
    kinds: dict[str, Any] = dict.fromkeys(("experiment", "title", "paper", "where"), pl.String)
    return pl.DataFrame(rows, schema=kinds | {"claims": pl.Int64})


def _only(name: str) -> Path:
    """Return the file of the one experiment of that name."""
    paths = select_experiments([name])
    if len(paths) > 1:
        names = ", ".join(f"{path.parent.name}/{path.stem}" for path in paths)
        message = f"`{name}` names {len(paths)} experiments\nhint: name one of them: {names}"
        raise ExperimentError(message)
    return paths[0]


def _number(cell: float | str | None) -> float | None:
    """Return a cell of the paper's table as a number; it may hold text such as "-"."""
    return None if cell is None or isinstance(cell, str) else float(cell)
