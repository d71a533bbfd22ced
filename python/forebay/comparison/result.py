"""The result of a comparison: frames, a figure, and files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from forebay import _core, comparison, display, reporting
from forebay.folder import SCENARIO_FILE, staged_beside_runs
from forebay.runs.mean import known, mean_cells
from forebay.runs.measures import COMPLETION_METRICS, GROUP_METRICS, HOST_METRICS, QUEUE_METRICS, Measures
from forebay.storage.document import Document, json_text
from forebay.storage.frames import write_csv
from forebay.storage.stored import check_kinds, read_document, reading, tables_in

from .numbers import Numbers

if TYPE_CHECKING:
    from forebay.disciplines.custom import Plan
    from forebay.display.figure import Figure

STEM = "compare"
"""The files of a comparison are called so."""


_NESTED = ("parameters", "groups")
_FACTS = ("scenario", "description", "warmup_s", "duration_s", "rate_bps", "toml")
_KINDS = {
    "scenario": "text",
    "description": "text?",
    **dict.fromkeys(("warmup_s", "duration_s", "rate_bps"), "number"),
    **dict.fromkeys(("toml", "at"), "text"),
    **dict.fromkeys(("queues", "runs"), "list"),
    "left_out": "texts",
}


@dataclass(frozen=True)
class Row:
    """One queue of a comparison with its runs."""

    label: str
    discipline: str
    queue: str
    """The queue as it was run, as TOML on one line."""
    runs: Sequence[tuple[int, Measures]]
    """Seed and numbers of each run."""
    cpu_ns_per_packet: float
    """CPU time of the discipline for each packet offered, NaN where it is unknown."""


@dataclass(frozen=True, eq=False)
class Comparison(Numbers):
    """One scenario under several queues.

    Numbers are means over seeds. In every frame, a column `…_ci95` holds half the width of the 95 % confidence interval
    of the column that it is named for, or null with fewer than two seeds.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> comparison = fb.compare(
        ...     "examples/first.toml", "drop_tail,red", overrides=short, seeds=2
        ... )
        >>> comparison.group_names
        ['tcp', 'flood']
        >>> comparison.of_group("tcp")["queue"].to_list()
        ['drop_tail', 'red']

    """

    def plot(self) -> Figure:
        """Draw all of it as one matplotlib figure with a row per queue."""
        return comparison.figure.draw(self)

    def _repr_html_(self) -> str:
        return display.notebook.html(lambda width: comparison.table.terminal_tables(self, width))

    def to_dict(self) -> Document:
        """Return the whole comparison as plain values, with None for a value that does not exist."""
        rows = []
        for row in self.table.to_dicts():
            groups = self.groups.filter(pl.col("queue") == row["queue"]).drop("queue", "discipline").to_dicts()
            rows.append({**row, "parameters": self.parameters[row["queue"]], "groups": groups})
        document = {name: getattr(self, name) for name in _FACTS}
        facts: Document = {
            "left_out": list(self.left_out),
            "fitted": {label: dict(it) for label, it in self.fitted.items()},
            "at": self.at,
            "several_queues": self.several_queues,
        }
        return document | {"queues": rows, "runs": self.runs.to_dicts()} | facts

    def to_json(self) -> str:
        """Return the whole comparison as one JSON document, as `forebay compare --json` prints it."""
        return json_text(self.to_dict())

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return comparison.table.markdown(self)

    def to_html(self, folder: str | PathLike[str] | None = None) -> str:
        """Return an HTML page with tables and figures. It needs no other file and no network.

        Args:
            folder: Where the comparison is saved, for the command that repeats it.

        """
        section = reporting.comparisons.comparison_section(self, None if folder is None else Path(folder))
        return reporting.page.html_of(section.heading, [section])

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a comparison that `Comparison.save` or `forebay compare --out` wrote.

        Args:
            folder: The folder of the comparison.

        Raises:
            InputError: If the folder holds no comparison.

        """
        path = Path(folder) / f"{STEM}.json"
        absent, write = f"{folder} holds no comparison", "`forebay compare --out` writes one"
        with reading(str(path), absent=absent, write=write, again="compare again"):
            document = read_document(path)
            check_kinds({"toml": "", "at": "", **document}, _KINDS, path.name)
            facts: dict[str, Any] = {"toml": "", **{name: document[name] for name in _FACTS if name in document}}
            table, groups, runs = _frames_of(document)
            return cls(
                **facts,
                table=table,
                groups=groups,
                runs=runs,
                parameters={row["queue"]: row["parameters"] for row in document["queues"]},
                left_out=tuple(document["left_out"]),
                fitted=tables_in(document.get("fitted", {}), "fitted"),
                at=document.get("at", ""),
                several_queues=bool(document.get("several_queues")),
            )

    def save(self, folder: str | PathLike[str]) -> None:
        """Write `compare.csv`, `.json`, `.md`, `.html`, `.png` and `.svg`, and the scenario.

        Args:
            folder: Where to write. It is made if it does not exist.

        Raises:
            InputError: If the folder cannot be written, or holds the result of a run.

        """
        with staged_beside_runs(folder) as staging:
            write_csv(self.wide(), staging / f"{STEM}.csv")
            (staging / f"{STEM}.json").write_text(self.to_json() + "\n", encoding="utf-8")
            (staging / f"{STEM}.md").write_text(self.to_markdown(), encoding="utf-8")
            (staging / f"{STEM}.html").write_text(self.to_html(folder), encoding="utf-8")
            display.figure.save_figure(self.plot(), staging, STEM)
            if self.toml:
                (staging / SCENARIO_FILE).write_text(self.toml, encoding="utf-8")


def is_comparison(path: Path) -> bool:
    """Return whether the path is the folder of a comparison."""
    return (path / f"{STEM}.json").is_file()


def measure_cost(text: str, link: str, runs: Sequence[tuple[int, Measures]], custom: Mapping[str, Plan]) -> float:
    """CPU time of the queue in front of `link` for each packet, in ns, under what arrived there in the runs.

    Measured in a loop of its own, apart from the simulator: flows in the proportion in which their packets arrived, as
    much of them, at random times. NaN where nothing arrived.
    """
    if not runs:
        return math.nan
    measures = [run for _, run in runs]
    # A seed may have flows that another has not.
    names = list(dict.fromkeys(name for run in measures for name in run.arrivals))
    weights = np.mean([[run.arrivals.get(name, 0.0) for name in names] for run in measures], axis=0)
    load = float(np.mean([run.load for run in measures]))
    packet_bytes = float(np.mean([run.packet_bytes for run in measures]))
    if not (weights.sum() > 0 and math.isfinite(load) and load > 0 and math.isfinite(packet_bytes)):
        return math.nan
    cost = _core.queue_cost(text, STEM, (), link, weights.tolist(), max(1, round(packet_bytes)), load, custom)
    return cost["ns_per_packet"]


def frames_of(rows: Sequence[Row]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the frames `table`, `groups` and `runs` of a comparison."""
    table, groups, runs = [], [], []
    runs_of_all = [run for row in rows for _, run in row.runs]
    some = [name for name in (*HOST_METRICS, *COMPLETION_METRICS) if any(name in run.queue for run in runs_of_all)]
    metrics = [*QUEUE_METRICS, *some]
    of_groups = [of_group for run in runs_of_all for of_group in run.groups.values()]
    group_metrics = [*GROUP_METRICS, *(name for name in COMPLETION_METRICS if any(name in it for it in of_groups))]
    for row in rows:
        head = {"queue": row.label, "discipline": row.discipline}
        means = _means(metrics, [run.queue for _, run in row.runs])
        table.append({**head, "seeds": len(row.runs), **means, "cpu_ns_per_packet": known(row.cpu_ns_per_packet)})
        for group, flows in row.runs[0][1].flows.items():
            present = [run.groups[group] for _, run in row.runs if group in run.groups]
            groups.append({**head, "group": group, "flows": flows, **_means(group_metrics, present)})
        runs += [
            {**head, "seed": seed, **{name: known(run.queue.get(name)) for name in metrics}} for seed, run in row.runs
        ]
    return _frame(table), _frame(groups), _frame(runs)


def _frames_of(document: Document) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the frames of a comparison that was written as one document."""
    heads = [{name: row[name] for name in ("queue", "discipline")} for row in document["queues"]]
    table = [{name: value for name, value in row.items() if name not in _NESTED} for row in document["queues"]]
    groups = [head | group for head, row in zip(heads, document["queues"], strict=True) for group in row["groups"]]
    return _frame(table), _frame(groups), _frame(document["runs"])


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    texts = dict.fromkeys(("queue", "discipline", "group"), pl.String)
    whole = dict.fromkeys(("seeds", "flows"), pl.Int64)
    kinds: dict[str, Any] = {**texts, **whole, "seed": pl.UInt64}
    return pl.DataFrame(rows, schema={name: kinds.get(name, pl.Float64) for name in rows[0]}, orient="row")


def _means(names: Iterable[str], runs: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in names:
        found |= mean_cells(name, [run.get(name) for run in runs])
    return found
