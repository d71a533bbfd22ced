"""`forebay run --seeds`: one scenario under several seeds, which is a sweep in which nothing varies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forebay import terminal
from forebay.document import Document, json_text, rows_of
from forebay.runs.outcome import Outcome
from forebay.runs.workers import Where
from forebay.scenario import Scenario

from .command import ALL_RUN, SOME_FAILED, run_shown
from .plan import Request, make_plan
from .table import failures_text


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
    first: dict[str, Any] = {} if seed is None else {"seed": seed}
    scenario = scenario.override(first)
    found: dict[int, Document] = {}

    def take(_point: int, seed: int, outcome: Outcome) -> None:
        found[seed] = _document(scenario, seed, outcome)

    result = run_shown(
        make_plan(scenario, Request({}, seeds=seeds)), out, Where(jobs, may_start_processes=True), on_outcome=take
    )
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


def _document(scenario: Scenario, seed: int, outcome: Outcome) -> Document:
    return {
        "scenario": scenario.name,
        "duration_s": scenario.duration_s,
        "warmup_s": scenario.warmup_s,
        "seed": seed,
        "digest": outcome.digest,
        **{table: rows_of(columns) for table, columns in outcome.tables.items()},
    }
