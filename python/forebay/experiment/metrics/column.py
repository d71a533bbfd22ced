"""`column`: a column of a result table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from forebay.experiment.errors import MetricError
from forebay.runs.hosts import End, Hosts
from forebay.runs.outcome import data_rows

from .names import matching
from .outcome_metric import OutcomeMetric
from .reduction import reduced, share_within
from .unit import Unit, WithUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.runs.outcome import Columns, Outcome

    from .metric import Samples


Table = Literal[
    "flows",
    "queues",
    "links",
    "adapters",
    "queue_flows",
    "transfers",
    "videos",
    "pages",
    "pings",
    "completion_times",
    "equal_paths",
    "collectives",
    "ranks",
]

_SUMS = {"goodput_bps", "throughput_bps", "offered_bps", "timeouts", "transfers_completed"}
"""Columns of `flows` that add up over flows, with all that begin with `packets_`."""


class ColumnMetric(OutcomeMetric, WithUnit):
    """A column of a result table over the rows named, reduced to one value."""

    kind: Literal["column"]
    column: str
    table: Table | Annotated[list[Table], Field(min_length=1)] = "flows"
    """Of several tables the rows of all of them count: `["queues", "adapters"]`, all that PAUSE can stop."""
    name: str | None = None
    """The row: a flow, queue, link or adapter. A `*` matches any characters, and takes all rows that match: `out-*`.
    """
    group: str | None = None
    """The rows: all flows of a group."""
    queue: str | None = None
    """The queue, in the table `queue_flows`, of which only the rows of data count."""
    minus: str | None = None
    """A column subtracted row by row; in `queue_flows` it may be a column of `flows`."""
    per: str | None = None
    """A column divided by, row by row; with `by`, host by host, after both were summed."""
    times: str | None = None
    """A column multiplied by, row by row: drops per packets sent times the offered rate is the rate lost."""
    by: End | None = None
    """Of flows: sums the values of all flows that a host sends or receives, before `per` divides and `reduce` makes one
    value of the hosts. The columns must add up over flows: rates, and numbers of packets, timeouts and
    transfers. In a home, `source` are its hosts with what they send up, `destination` those with what they get down."""
    host: str | None = None
    """With `by`: the hosts. A `*` matches any characters."""
    unit: Unit = ""
    reduce: Literal["mean", "min", "max", "sum", "jain", "count", "share"] = "mean"
    """`count` counts the rows that have a value at all (are not NaN), `share` is the part of those in the bounds."""
    at_least: float | None = None
    """For `share`: the lower bound, in the column's own unit."""
    at_most: float | None = None
    """For `share`: the upper bound, in the column's own unit."""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        bounded = self.at_least is not None or self.at_most is not None
        if bounded != (self.reduce == "share"):
            message = "`share` needs `at_least`, `at_most` or both, and nothing else takes them"
            raise ValueError(message)
        if self.by is None and self.host is not None:
            message = '`host` needs `by`: "source" or "destination"'
            raise ValueError(message)
        if self.by is not None:
            self._check_by()
        return self

    def _check_by(self) -> None:
        if self.table != "flows":
            message = "`by` is for the table `flows` alone"
            raise ValueError(message)
        if self.times is not None:
            message = "`by` sums columns, and a product of sums is no sum of products: `times` is for single flows"
            raise ValueError(message)
        for column in (self.column, self.minus, self.per):
            if column is not None and not column.startswith("packets_") and column not in _SUMS:
                message = f"`by` sums over the flows of a host: `{column}` is no sum; rates and numbers of packets are"
                raise ValueError(message)

    def of_outcome(self, outcome: Outcome) -> float:
        """Return the column of the rows, reduced. Raises MetricError where the run has no such row or column."""
        tables = [self.table] if isinstance(self.table, str) else self.table
        values = np.concatenate([self._values(outcome, table) for table in tables])
        if not len(values):
            wanted = self.host or self.name or self.group or self.queue or "this"
            message = f"no row of `{'`, `'.join(tables)}` matches {wanted}"
            raise MetricError(message)
        if self.reduce == "share":
            return share_within(values, self.at_least, self.at_most) * self.scale
        return reduced(values, self.reduce) * self.scale

    def _values(self, outcome: Outcome, table: Table) -> NDArray[np.float64]:
        """Return the values of the rows of one table that are meant."""
        rows = self._rows(outcome, table)
        values = _column(outcome.tables[table], self.column, table)[rows].astype(np.float64)
        if self.minus is not None:
            values = values - self._beside(outcome, table, self.minus, rows)
        divisors = None if self.per is None else self._beside(outcome, table, self.per, rows)
        if self.by is not None:
            values = self._by_host(outcome, self.by, rows, values)
            divisors = None if divisors is None else self._by_host(outcome, self.by, rows, divisors)
        if divisors is not None:
            with np.errstate(invalid="ignore", divide="ignore"):
                values = values / divisors
        if self.times is not None:
            values = values * self._beside(outcome, table, self.times, rows)
        return values

    def _by_host(
        self, outcome: Outcome, by: End, rows: NDArray[np.bool], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the sum of the values of each host that is meant."""
        flows = outcome.tables["flows"]
        _column(flows, by, "flows")
        hosts = Hosts.of({name: flows[name][rows] for name in (by, "line", "name") if name in flows}, by)
        sums = np.array(hosts.sums(values.tolist()), dtype=np.float64)
        return sums if self.host is None else sums[matching(np.array(hosts.names, dtype=np.str_), self.host)]

    def _rows(self, outcome: Outcome, name: Table) -> NDArray[np.bool]:
        """Return which rows of the table of that name are meant."""
        table = outcome.tables[name]
        names = _column(table, "flow" if name == "queue_flows" else "name", name)
        rows = np.ones(len(names), dtype=bool)
        if name == "queue_flows":
            rows &= data_rows(table)
        if self.name is not None:
            rows &= matching(names, self.name) if "*" in self.name else names == self.name
        if self.group is not None:
            rows &= np.isin(names, outcome.group(self.group))
        if self.queue is not None:
            rows &= _column(table, "queue", name) == self.queue
        return rows

    def _beside(self, outcome: Outcome, name: Table, column: str, rows: NDArray[np.bool]) -> Samples:
        """Another column for the same rows; for `queue_flows` also one of the flow's own table."""
        table = outcome.tables[name]
        if column not in table and name == "queue_flows":
            flows = outcome.tables["flows"]
            of_flow = dict(zip(flows["name"], _column(flows, column, "flows"), strict=True))
            return np.array([float(of_flow[name]) for name in table["flow"][rows]])
        return _column(table, column, name)[rows].astype(np.float64)


def _column(table: Columns, column: str, name: str) -> NDArray[np.float64]:
    if column not in table:
        message = f"the table `{name}` has no column `{column}`; it has {', '.join(table) or 'none'}"
        raise MetricError(message)
    return table[column]
