"""The results of a replay: tables and time series as Polars frames, figures, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

import polars as pl

from forebay import captures, display
from forebay.folder import RESULT_FILE, staged
from forebay.runs.delays import DELAYS_FILE, read_delays, share
from forebay.runs.series import SERIES_FILE, Series, long_frame, narrowed, read_series
from forebay.storage.document import Document, json_text
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

if TYPE_CHECKING:
    from .plot import ReplayPlots

_FACTS = (
    "capture",
    "rate_bps",
    "seed",
    "duration_s",
    "packets",
    "bytes",
    "packets_unselected",
    "packets_unaddressed",
    "packets_out_of_order",
    "packets_cut",
    "packets_missed",
    "packets_opaque",
    "command",
)
# Results of earlier versions lack these.
_LATER = {"packets_missed": 0, "packets_unaddressed": 0, "packets_opaque": 0, "command": ""}
_TABLES = ("queues", "flows")
_KINDS = {**dict.fromkeys(_FACTS, "number"), "capture": "text", "command": "text"}


class Warned(TypedDict):
    """A warning of a replay."""

    text: str
    """The effect, with the number of packets."""
    remedy: str
    """The remedy."""


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """The results of a replay: what became of a capture's packets at each queue.

    Times count from the capture's first packet. All tables are Polars frames.

    Example:
        >>> capture = "examples/belligerent.pcap.gz"
        >>> replayed = fb.replay(capture, rate="20 Mbps", queue="dbl")
        >>> replayed.packets, replayed.flows.height
        (27777, 10)
        >>> replayed.series("dbl", "delay_mean_s").columns
        ['time_s', 'name', 'quantity', 'value']

    """

    capture: str
    """Path of the capture."""
    rate_bps: int
    """Rate of the port in bit/s."""
    seed: int
    """The seed of the disciplines' random numbers."""
    duration_s: float
    """Time at which the last bit of the last packet left, in seconds."""
    packets: int
    """Packets replayed."""
    bytes: int
    """Their bytes."""
    packets_unselected: int
    """Packets left out because they go to other destinations."""
    packets_out_of_order: int
    """Packets stamped earlier than the packet before them in the file. They were put in order of time."""
    packets_cut: int
    """Packets of which the capture's snaplen kept too little to tell their flow. Such flows between the same addresses
    are one."""
    queues: pl.DataFrame = field(repr=False)
    """One row per queue: drops by reason, mean and greatest length, delays, and the discipline's gauges at the end."""
    flows: pl.DataFrame = field(repr=False)
    """One row per flow at each queue: drops by reason, delays, and what the discipline keeps of the flow, such as
    `classified_at_s`."""
    all_series: tuple[Series, ...] = field(repr=False)
    """Each queue over time. A value belongs to the interval that begins at its time."""
    warnings: tuple[Warned, ...] = ()
    """Omissions and unexpected behaviour of the replay: a text and a remedy each."""
    packets_unaddressed: int = 0
    """Packets left out because they show no IP header, and so no destination."""
    packets_opaque: int = 0
    """Packets that may carry IP but show no IP header. All packets of one EtherType are one flow."""
    packets_missed: int = 0
    """Packets that arrived during a recording and are not in the record, because its writer was too slow."""
    fitted: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict, repr=False)
    """Parameters of each queue that were not given and follow from the rate of the port, by its label."""
    command: str = field(default="", repr=False)
    """The command line that repeats the replay; empty if an older version wrote the result."""
    delays: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """The delays at each queue as a histogram: `queue`, `delay_s` (the end of a step) and `packets`. Without rows if an
    older version wrote the result."""

    def series(self, name: str | None = None, quantity: str | None = None) -> pl.DataFrame:
        """Return the queues over time as one long frame.

        Quantities are `length_mean_packets`, `length_max_packets`, `length_mean_bytes`, `delay_mean_s`, `delay_max_s`,
        `offered_bps`, `delivered_bps`, `packets_dropped`, `packets_marked`, and the discipline's gauges.

        Args:
            name: A queue; all of them by default.
            quantity: A quantity; all of them by default.

        Returns:
            One row per value: `time_s`, `name` (of the queue), `quantity`, `value`.

        Raises:
            InputError: If there is no such series.

        """
        return long_frame(self.find_series(name, quantity))

    def find_series(self, name: str | None = None, quantity: str | None = None) -> list[Series]:
        """Return the series that `series` puts into a frame, one object each. Raises InputError if there is none."""
        return narrowed(list(self.all_series), name, quantity, "series")

    def delay_distribution(self) -> pl.DataFrame:
        """Return the cumulative distribution of the delays at each queue.

        Returns:
            One row per step of the histogram: `queue`, `delay_s`, and `share`, the part of the delivered packets with
            no more than that delay. Without rows if an older version wrote the result.

        Example:
            >>> replayed = fb.replay("examples/belligerent.pcap.gz", rate="20 Mbps", queue="dbl")
            >>> replayed.delay_distribution().tail(1).select("queue", "share").rows()
            [('dbl', 1.0)]

        """
        if self.delays.is_empty():
            return pl.DataFrame(schema={"queue": pl.String, "delay_s": pl.Float64, "share": pl.Float64})
        return self.delays.select("queue", "delay_s", share(["queue"]))

    @cached_property
    def plot(self) -> ReplayPlots:
        """Figures of the replay: `result.plot.queues()` and `result.plot.flows()`."""
        return captures.plot.ReplayPlots(self)

    def _repr_html_(self) -> str:
        return display.notebook.html(lambda width: captures.table.terminal_tables(self.to_dict(), width))

    def to_dict(self, *, series: bool = False) -> Document:
        """Return the whole result as plain values, with None for a value that does not exist.

        Args:
            series: Whether to include the values of the time series.

        """
        facts = {name: getattr(self, name) for name in _FACTS}
        facts["warnings"] = [dict(warning) for warning in self.warnings]
        tables = {table: getattr(self, table).to_dicts() for table in _TABLES}
        fitted = {label: dict(it) for label, it in self.fitted.items()}
        return {
            **facts,
            **tables,
            "fitted": fitted,
            "series": [entry.to_dict(values=series) for entry in self.all_series],
        }

    def to_json(self, *, series: bool = False) -> str:
        """Return the whole result as one JSON document, as `forebay replay --json` prints it.

        Args:
            series: Whether to include the values of the time series.

        """
        return json_text(self.to_dict(series=series))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write tables and series as Parquet, and all but the values of the series as `result.json`.

        Either all files appear or none.

        Args:
            folder: Where to write. It is made if it does not exist.

        Raises:
            InputError: If the folder cannot be written.

        """
        with staged(folder) as staging:
            for table in _TABLES:
                frame: pl.DataFrame = getattr(self, table)
                write_frame(frame, staging / f"{table}.parquet")
            write_frame(self.delays, staging / DELAYS_FILE)
            write_frame(self.series().select(pl.lit("queue").alias("kind"), pl.all()), staging / SERIES_FILE)
            (staging / RESULT_FILE).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a replay that `ReplayResult.save`, `replay` with `out`, or `forebay replay --out` wrote.

        Args:
            folder: The folder of the replay.

        Raises:
            InputError: If the folder holds no complete replay.

        """
        path = Path(folder)
        absent, write = f"{path} holds no complete replay", f"`forebay replay CAPTURE --out {path}` writes one"
        with reading(f"the replay in {path}", absent=absent, write=write, again="replay the capture again"):
            document = read_document(path / RESULT_FILE)
            document = {**_LATER, "warnings": [], "fitted": {}, **document}
            kept: dict[str, Any] = {name: document[name] for name in _FACTS}
            kept["warnings"] = tuple(Warned(text=it["text"], remedy=it["remedy"]) for it in document["warnings"])
            kept["fitted"] = tables_in(document["fitted"], "fitted")
            check_kinds(kept, _KINDS, RESULT_FILE)
            kept |= {table: read_frame(path / f"{table}.parquet") for table in _TABLES}
            for table in _TABLES:
                check_columns(kept[table], ("queue",), f"{table}.parquet")
            delays = read_delays(path / DELAYS_FILE, ("queue",))
            return cls(delays=delays, all_series=read_series(path / SERIES_FILE, document["series"]), **kept)


def is_replay(folder: str | PathLike[str]) -> bool:
    """Return whether the result in that folder is one of a replay."""
    try:
        return "capture" in read_document(Path(folder) / RESULT_FILE)
    except UNREADABLE:
        return False
