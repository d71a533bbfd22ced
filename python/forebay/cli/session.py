"""`forebay reproduce`: runs experiments, prints paper and measured values side by side, and judges the claims."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forebay.errors import ControllerError, DisciplineError, InputError, ScenarioError
from forebay.experiment.coordinates import Coordinates
from forebay.experiment.errors import ExperimentError
from forebay.experiment.judge import ClaimResult, judge_all
from forebay.experiment.load import load_experiment, select_experiments
from forebay.experiment.plan import Cell, Plan, make_plan
from forebay.experiment.python_code import prepared
from forebay.experiment.refusal import refused_at_evaluation
from forebay.experiment.report import (
    count_line,
    experiment_json,
    warnings_of,
    write_experiment,
    write_scenarios,
    write_summary,
)
from forebay.experiment.runs import Runs
from forebay.experiment.tables import render_claims, render_experiment
from forebay.folder import NotWrittenError, named, staged
from forebay.runs.execute import Simulate, execute
from forebay.runs.job import Job
from forebay.runs.seeds import MOST_SEEDS
from forebay.runs.store import Store
from forebay.runs.workers import Where, Workers

from . import interrupt, terminal
from .interrupt import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay.disciplines.custom import CustomClasses
    from forebay.experiment.schema import Experiment
    from forebay.runs.outcome import Outcome

ALL_HOLD, SOME_DO_NOT, BAD_INPUT = 0, 1, 2

# The most runs of a call.
_MOST_RUNS = 1_000_000


def reproduce(
    ids: Sequence[str],
    *,
    seeds: int | None = None,
    quick: bool = False,
    out: Path | None = None,
    as_json: bool = False,
    where: Where = Where(),  # noqa: B008 - it cannot be changed
    allow_python: bool = False,
    simulate: Simulate | None = None,
) -> int:
    """Run the experiments that `ids` name and judge their claims.

    Args:
        ids: "dbl/table2", a paper ("dbl"), a pattern ("dbl/fig*"), "all", or paths of experiment files.
        seeds: Seeds for each run, in place of the file's number.
        quick: Fewer seeds and shorter runs, as set in the file.
        out: Folder for results, figures and pages; by default `out/reproduce`.
        as_json: Print one JSON document to standard output and nothing else.
        where: Where the runs are computed; by default on threads, one for each core.
        allow_python: Import and run the Python code that experiments name, modules next to their files first.
        simulate: The function that runs a scenario; by default the simulator itself.

    Returns:
        The exit status: 0 if no claim is "not reproduced", 1 if one is, 2 for bad input, 130 after Ctrl-C. An undecided
        claim does not change it.

    """
    try:
        if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
            message = f"--seeds: must be from 1 to {MOST_SEEDS}, and is {seeds}"
            raise ExperimentError(message)
        if not ids:
            message = (
                "no experiment was named\nhint: name one, or a paper such as `dbl`; `forebay reproduce all` runs all"
            )
            raise ExperimentError(message)
        paths = select_experiments(ids)
        plans = _plans(paths, quick=quick, seeds=seeds)
        plans, run, custom = prepared(plans, paths, allowed=allow_python, simulate=simulate)
        folder = Path("out") / "reproduce" if out is None else named(out)
        session = _Session(plans, folder, as_json, run, custom)
        return session.run(where)
    except (InputError, ScenarioError, DisciplineError, ControllerError) as error:
        terminal.complain_of(error)
        return BAD_INPUT
    except BrokenPipeError:
        raise
    except OSError as error:
        terminal.complain(f"{error.filename or out}: {error.strerror or error}")
        return BAD_INPUT


def _plans(paths: list[Path], *, quick: bool, seeds: int | None) -> list[Plan]:
    plans: list[Plan] = []
    for experiment in _load_all(paths):
        plans.append(make_plan(experiment, quick=quick, seeds=seeds))
        if sum(len(plan.jobs) for plan in plans) > _MOST_RUNS:
            message = f"that makes more than {_MOST_RUNS} runs\nhint: take fewer --seeds, or fewer experiments"
            raise ExperimentError(message)
    return plans


def _load_all(paths: list[Path]) -> list[Experiment]:
    experiments: dict[str, Experiment] = {}
    for path in paths:
        experiment = load_experiment(path)
        if experiment.id in experiments:
            message = f"{path}: id: `{experiment.id}` is the id of another experiment of this call"
            raise ExperimentError(message)
        experiments[experiment.id] = experiment
    return list(experiments.values())


class _Session:
    """One call of `reproduce`."""

    def __init__(
        self, plans: list[Plan], out: Path, as_json: bool, simulate: Simulate, custom: CustomClasses | None
    ) -> None:
        self.plans = plans
        self.custom = custom
        self.out = out
        self.as_json = as_json
        self.simulate = simulate
        self.width = terminal.output().width
        self.bar = terminal.progress("runs", counts=True)
        self.experiments: list[dict[str, Any]] = []
        self.claims: list[ClaimResult] = []
        self.warnings: list[str] = []
        self.kept_runs = 0
        self.unsaved: NotWrittenError | None = None
        """Why something could not be written: everything is shown all the same."""

    def run(self, where: Where) -> int:
        """Run every job, report each experiment when its last job is done, and return the exit status."""
        total = sum(len(plan.jobs) for plan in self.plans)
        done = 0

        def on_done(_job: Job[Cell], kept: bool) -> None:
            nonlocal done
            done += 1
            self.kept_runs += kept
            self.bar.move(done, total)

        try:
            # Nothing is written before there is something to run on.
            with where.hire(total, self.custom) as workers:
                for plan in self.plans:
                    write_scenarios(plan, self._folder(plan.experiment.id))
                with self.bar:
                    self._run_all(workers, on_done)
            self._summary()
        except KeyboardInterrupt:
            message = (
                f"stopped: {self.kept_runs} of {total} runs are in {self.out}; the same command continues from there"
            )
            interrupt.tell(message)
            return INTERRUPTED
        if self.unsaved is not None:
            raise self.unsaved
        return SOME_DO_NOT if any(claim.verdict == "not reproduced" for claim in self.claims) else ALL_HOLD

    def _run_all(self, workers: Workers, on_done: Any) -> None:
        missing = {plan.experiment.id: len(plan.jobs) for plan in self.plans}
        collected: dict[str, dict[Coordinates, dict[int, Outcome]]] = {plan.experiment.id: {} for plan in self.plans}
        due = list(self.plans)
        jobs = [job for plan in self.plans for job in plan.jobs]
        stores = {plan.experiment.id: Store(self._folder(plan.experiment.id) / "runs") for plan in self.plans}
        results = execute(jobs, lambda job: stores[job.key.experiment], self.simulate, workers=workers, on_done=on_done)
        due = self._report_due(due, missing, collected)
        with closing(results):
            for job, outcome in results:
                experiment, at = job.key
                collected[experiment].setdefault(at, {})[job.seed] = outcome
                missing[experiment] -= 1
                due = self._report_due(due, missing, collected)

    def _report_due(
        self,
        due: list[Plan],
        missing: dict[str, int],
        collected: dict[str, dict[Coordinates, dict[int, Outcome]]],
    ) -> list[Plan]:
        """Report complete experiments in the order asked for and forget their outcomes; return those to come."""
        while due and missing[due[0].experiment.id] == 0:
            outcomes = {
                at: [by_seed[seed] for seed in sorted(by_seed)]
                for at, by_seed in collected.pop(due[0].experiment.id).items()
            }
            try:
                self._report(due[0], Runs(due[0].experiment, due[0].quick, outcomes))
            except ExperimentError as error:
                raise refused_at_evaluation(due[0].experiment, error) from error
            due = due[1:]
        return due

    def _report(self, plan: Plan, runs: Runs) -> None:
        claims = judge_all(runs)
        figures = self._write_report(plan, runs, claims)
        self.experiments.append(experiment_json(plan, claims))
        self.claims += claims
        self.warnings += warnings_of(plan, claims)
        if self.as_json:
            return
        with self.bar.aside():
            self._print_report(plan, runs, claims, figures)

    def _print_report(self, plan: Plan, runs: Runs, claims: list[ClaimResult], figures: list[Path]) -> None:
        terminal.show("", *render_experiment(plan, runs, claims, self.width))
        for path in figures:
            if path.suffix == ".png":
                terminal.write(f"figure: {path} and .svg")

    def _write_report(self, plan: Plan, runs: Runs, claims: list[ClaimResult]) -> list[Path]:
        """Draw the figures and write the page; return the figures."""
        try:
            return write_experiment(self._folder(plan.experiment.id), plan, runs, claims)
        except NotWrittenError as error:
            self.unsaved = error
            return []

    def _summary(self) -> None:
        try:
            with staged(self.out) as staging:
                write_summary(staging, self.experiments, self.claims)
        except NotWrittenError as error:
            self.unsaved = error
        for warning in self.warnings:
            terminal.note(f"warning: {warning}")
        if self.as_json:
            terminal.write(json.dumps({"experiments": self.experiments}, indent=2, allow_nan=False))
            return
        terminal.write("")
        if len(self.plans) > 1 and self.claims:
            terminal.show(*render_claims(self.claims, "All claims", self.width))
        terminal.write(count_line(self.claims))
        if self.unsaved is None:
            terminal.write(f"written to {self.out}")

    def _folder(self, experiment_id: str) -> Path:
        return self.out / experiment_id
