"""The result of a sweep: frames, and the files that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from forebay import display, sweeps
from forebay.display.quantity import CI
from forebay.errors import InputError
from forebay.folder import named, staged_beside_runs
from forebay.runs.mean import estimate_known, known, mean_cells
from forebay.runs.outcome import Failure
from forebay.runs.statistics import Estimate
from forebay.storage.document import Document, json_text
from forebay.storage.frames import write_csv
from forebay.storage.stored import (
    UNREADABLE,
    check_columns,
    check_kinds,
    read_document,
    read_frame,
    reading,
    tables_in,
    write_frame,
)

from .axes import Value
from .plan import Plan, Point
from .until import metric_named

POINTS_FILE = "points.parquet"
RUNS_FILE = "runs.parquet"
SWEEP_FILE = "sweep.json"
"""Written first, with what was asked for."""

_KINDS = {
    "scenario": "text",
    "description": "text?",
    "toml": "text",
    "command": "text",
    "keys": "texts",
    "left_out": "texts",
}


@dataclass(frozen=True)
class Run:
    """One run of a sweep."""

    point: int
    seed: int
    values: Mapping[str, float]
    """By the name of the metric, NaN where there is none; empty if the run failed."""
    digest: str
    file: str
    """Name of its file, without the ending."""
    failure: Failure | None = None


@dataclass(frozen=True, eq=False)
class Sweep:
    """A scenario at many points, each under several seeds.

    Numbers of a point are means over seeds. A column `…_ci95` holds half the width of the 95 % confidence interval of
    the column that it is named for, or null with fewer than two seeds.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> counts = {"flows.tcp.count": [1, 5]}
        >>> sweep = fb.sweep("examples/first.toml", counts, overrides=short, seeds=2)
        >>> sweep.metric("tcp.goodput")
        'tcp.goodput_bps'
        >>> sweep.runs.height, sweep.failures.height
        (4, 0)

    """

    scenario: str
    """Name of the scenario."""
    description: str | None
    """Description of the scenario, or None."""
    keys: tuple[str, ...]
    """The axes: paths of keys, and `queue` for disciplines."""
    metrics: tuple[str, ...]
    """Names of all metrics: those of all flows and the queue, and `group.metric` for each group of flows."""
    points: pl.DataFrame = field(repr=False)
    """One row per point: `point`, a column for each key, `seeds`, `failed` (runs without a result), and each metric
    followed by its `…_ci95`."""
    runs: pl.DataFrame = field(repr=False)
    """One row per run: `point`, a column for each key, `seed`, each metric, `digest`, `run` (the name of its file), and
    `error`, null unless the run failed."""
    toml: str = field(repr=False)
    """The scenario as TOML, before anything is varied."""
    command: str = field(default="", repr=False)
    """The command line that repeats the sweep; empty for a sweep made in Python."""
    left_out: tuple[str, ...] = ()
    """Disciplines of `"all"` that do not fit the scenario, each with the reason."""
    fitted: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict, repr=False)
    """Parameters that were not given and follow from the link and its buffer: by the label of the discipline, or by
    that of the point where they differ from point to point."""
    several_queues: bool = False
    """Whether `utilization` and `length_mean_packets` are means over several queues, such as all ports of an Ethernet.
    """

    @property
    def failures(self) -> pl.DataFrame:
        """The runs that failed: `point`, a column for each key, `seed`, `error`."""
        return self.runs.filter(pl.col("error").is_not_null()).select("point", *self.keys, "seed", "error")

    def metric(self, name: str) -> str:
        """Return the full name of a metric, whose unit may be left out. Raises InputError if there is none."""
        return metric_named(name, self.metrics, "metric")

    def _repr_html_(self) -> str:
        return display.notebook.html(lambda width: sweeps.table.terminal_tables(self, width))

    def to_dict(self) -> Document:
        """Return the whole sweep as plain values, with None for a value that does not exist."""
        facts = ("scenario", "description", "command")
        lists = ("keys", "metrics", "left_out")
        return {
            **{name: getattr(self, name) for name in facts},
            **{name: list(getattr(self, name)) for name in lists},
            "fitted": {label: dict(it) for label, it in self.fitted.items()},
            "several_queues": self.several_queues,
            "points": self.points.to_dicts(),
            "runs": self.runs.to_dicts(),
        }

    def to_json(self) -> str:
        """Return the whole sweep as one JSON document, as `forebay sweep --json` prints it."""
        return json_text(self.to_dict())

    def save(self, folder: str | PathLike[str]) -> None:
        """Write `points.parquet`, `points.csv` and `runs.parquet`, and `sweep.json` where there is none.

        `Sweep.load` reads them. Only the folder `out` of `sweep` also holds the runs, from which a sweep continues.

        Args:
            folder: Where to write. It is made if it does not exist.

        Raises:
            InputError: If the folder cannot be written, or holds the result of a run or another sweep.

        """
        path = named(folder) / SWEEP_FILE
        if path.exists() and not self._is_described_by(path):
            message = f"{folder} holds another sweep\nhint: name another folder"
            raise InputError(message)
        with staged_beside_runs(folder) as staging:
            if not path.exists():
                (staging / SWEEP_FILE).write_text(json_text(self._description()) + "\n", encoding="utf-8")
            write_frame(self.points, staging / POINTS_FILE)
            write_csv(self.points, staging / "points.csv")
            write_frame(self.runs, staging / RUNS_FILE)

    def _description(self) -> Document:
        """Return the input of `load` in addition to the tables."""
        texts = {name: getattr(self, name) for name in ("scenario", "description", "toml", "command")}
        fitted = {label: dict(it) for label, it in self.fitted.items()}
        lists = {"keys": list(self.keys), "left_out": list(self.left_out)}
        return {**texts, **lists, "fitted": fitted, "several_queues": self.several_queues}

    def _is_described_by(self, path: Path) -> bool:
        try:
            there = read_document(path)
            return bool((there["toml"], there["keys"]) == (self.toml, list(self.keys)))
        except UNREADABLE:
            return False

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Sweep:
        """Read a finished sweep that `save`, `sweep` with `out`, or `forebay sweep --out` wrote.

        Args:
            folder: The folder of the sweep.

        Raises:
            InputError: If the folder holds no finished sweep.

        """
        path = Path(folder)
        with reading(
            f"the sweep in {path}",
            absent=f"{path} holds no finished sweep",
            write="`forebay sweep --out` writes one; the same command continues a stopped one",
            again="the same command makes its tables again from the runs that can be read",
        ):
            facts = read_document(path / SWEEP_FILE)
            check_kinds(facts, _KINDS, SWEEP_FILE)
            frames = [read_frame(path / name) for name in (POINTS_FILE, RUNS_FILE)]
            _check_frames(frames[0], frames[1], facts["keys"])
            return cls(
                scenario=facts["scenario"],
                description=facts["description"],
                keys=tuple(facts["keys"]),
                metrics=_metrics_of(frames[0], facts["keys"]),
                points=frames[0],
                runs=frames[1],
                toml=facts["toml"],
                command=facts["command"],
                left_out=tuple(facts["left_out"]),
                fitted=tables_in(facts.get("fitted", {}), "fitted"),
                several_queues=bool(facts.get("several_queues")),
            )


def _check_frames(points: pl.DataFrame, runs: pl.DataFrame, keys: Sequence[str]) -> None:
    """Raise one of `UNREADABLE` unless these are the frames of a sweep of these keys."""
    check_columns(points, (), POINTS_FILE)
    check_columns(runs, (), RUNS_FILE)
    points.select("point", *keys, "seeds", "failed")
    # A damaged name makes two metrics of one, neither of which has both columns.
    points.select(metric + CI for metric in _metrics_of(points, keys))
    runs.select("point", *keys, "seed", "error")


def is_sweep(path: Path) -> bool:
    """Return whether the path is the folder of a sweep."""
    return (path / SWEEP_FILE).is_file()


def sweep_of(plan: Plan, runs: Iterable[Run], command: str) -> Sweep:
    """Return the frames of a plan's runs."""
    by_point: dict[int, list[Run]] = {point.index: [] for point in plan.points}
    for run in runs:
        by_point[run.point].append(run)
    for members in by_point.values():
        members.sort(key=lambda run: run.seed)
    metrics = list(dict.fromkeys(name for members in by_point.values() for run in members for name in run.values))
    every = [run for members in by_point.values() for run in members]
    measured = [name for name in metrics if any(known(run.values.get(name)) is not None for run in every)]
    return Sweep(
        scenario=plan.scenario.name,
        description=plan.scenario.description,
        keys=tuple(plan.keys),
        metrics=tuple(measured),
        points=_points_frame(plan, by_point, measured),
        runs=_runs_frame(plan, by_point, measured),
        toml=plan.scenario.to_toml(),
        command=command,
        left_out=plan.left_out,
        fitted=plan.fitted,
        several_queues=plan.several_queues,
    )


def estimate_of(runs: Sequence[Run], metric: str) -> Estimate | None:
    """Return the mean of a metric over the runs that have it, or None if none has."""
    return estimate_known(run.values.get(metric) for run in runs)


def _points_frame(plan: Plan, by_point: Mapping[int, Sequence[Run]], metrics: Sequence[str]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for point in plan.points:
        runs = by_point[point.index]
        failed = sum(run.failure is not None for run in runs)
        row: dict[str, Any] = {"point": point.index, **point.settings, "seeds": len(runs) - failed, "failed": failed}
        for name in metrics:
            row |= mean_cells(name, [run.values.get(name) for run in runs])
        rows.append(row)
    numbers = dict.fromkeys([column for name in metrics for column in (name, name + CI)], pl.Float64)
    return _frame(rows, plan.points, numbers)


def _runs_frame(plan: Plan, by_point: Mapping[int, Sequence[Run]], metrics: Sequence[str]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "point": point.index,
            **point.settings,
            "seed": run.seed,
            **{name: known(run.values.get(name)) for name in metrics},
            "digest": run.digest or None,
            "run": run.file,
            "error": run.failure.to_text() if run.failure else None,
        }
        for point in plan.points
        for run in by_point[point.index]
    ]
    kinds: dict[str, Any] = dict.fromkeys(metrics, pl.Float64)
    return _frame(
        rows, plan.points, {"seed": pl.UInt64, **kinds, "digest": pl.String, "run": pl.String, "error": pl.String}
    )


def _frame(rows: list[dict[str, Any]], points: Sequence[Point], kinds: Mapping[str, Any]) -> pl.DataFrame:
    settings: dict[str, list[Value]] = {key: [point.settings[key] for point in points] for key in points[0].settings}
    schema = {key: _kind(values) for key, values in settings.items()} | dict(kinds)
    names = list(rows[0]) if rows else ["point", *settings, *kinds]
    # Numbers in a column with texts, such as "none" among sizes, are texts.
    for row in rows:
        row.update({key: str(row[key]) for key in settings if schema[key] == pl.String})
    return pl.DataFrame(rows, schema={name: schema.get(name, pl.Int64) for name in names}, orient="row")


def _kind(values: Sequence[Value]) -> Any:
    kinds = {type(value) for value in values}
    for kind, members in ((pl.Boolean, {bool}), (pl.Int64, {int}), (pl.Float64, {int, float})):
        if kinds <= members:
            return kind
    return pl.String


def _metrics_of(points: pl.DataFrame, keys: Sequence[str]) -> tuple[str, ...]:
    heads = {"point", "seeds", "failed", *keys}
    return tuple(name for name in points.columns if name not in heads and not name.endswith(CI))
