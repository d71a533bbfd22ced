"""Runs one scenario with the simulator and keeps what experiments need of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forebay import _core
from forebay.storage.document import TABLES

from .execute import StoppedError
from .outcome import Outcome, Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from forebay.disciplines.custom import CustomClasses


def simulate(
    text: str,
    name: str,
    seed: int,
    go_on: Callable[[], bool],
    on_progress: Callable[[float], object] = lambda _fraction: None,
    custom: CustomClasses | None = None,
) -> Outcome:
    """Run the scenario in `text`; messages use `name` for its file.

    `on_progress` is called with the finished part; `custom` are the classes that the scenario names. Raises
    ScenarioError, DisciplineError, ControllerError and StoppedError.
    """

    def progress(fraction: float) -> None:
        if not go_on():
            raise StoppedError
        on_progress(fraction)

    raw = _core.run(text, name, seed=seed, progress=progress, custom=custom or {})
    tables = {table: {column: np.asarray(values) for column, values in getattr(raw, table).items()} for table in TABLES}
    series = [
        Series(
            item["kind"],
            item["name"],
            item["quantity"],
            item["start_s"],
            item["interval_s"],
            item["values"],
            item.get("states", ()),
        )
        for item in raw.series
    ]
    return Outcome(tables, series, raw.digest)


def simulate_tables(
    text: str, name: str, seed: int, go_on: Callable[[], bool], custom: CustomClasses | None = None
) -> Outcome:
    """As `simulate`, without the time series, for those who look at tables only."""
    outcome = simulate(text, name, seed, go_on, custom=custom)
    return Outcome(outcome.tables, digest=outcome.digest)


def check(text: str, name: str) -> list[str]:
    """Validate a scenario without running it, and return the Python classes that it names. Raises ScenarioError."""
    return _core.check(text, name)["python_classes"]
