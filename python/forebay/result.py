"""The results of a run: tables and time series as Polars frames, figures, and files."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args, get_type_hints

import polars as pl

import forebay

from . import display
from .display.names import listed
from .errors import InputError
from .folder import RESULT_FILE, staged
from .runs.delays import DELAYS_FILE, read_delays, share
from .runs.fairness import jain
from .runs.hosts import ENDS, End, Hosts
from .runs.series import SERIES_FILE, Series, SeriesKind, long_frame, narrowed, read_series
from .storage.document import TABLES, YOUNGER_TABLES, Document, Rows, json_parts, json_text
from .storage.frames import frame_of
from .storage.stored import check_columns, check_kinds, read_document, read_table, reading, write_frame

if TYPE_CHECKING:
    from ._core import RawResult
    from .plot import Plots

# The columns of texts that every version has written; all others are numbers.
_TEXTS = {
    "flows": ("name", "group"),
    "queues": ("name", "discipline"),
    "links": ("name",),
    "queue_flows": ("queue", "flow"),
    "adapters": ("name",),
    "transfers": ("name", "group"),
    "videos": ("name", "group"),
    "pages": ("name", "group"),
    "pings": ("name", "group"),
    "completion_times": ("name", "group"),
    "equal_paths": ("name", "node", "set", "link"),
    "collectives": ("name", "group", "operation", "algorithm"),
    "ranks": ("name", "group", "host"),
}
_RATES = ("goodput_bps", "throughput_bps")
_KINDS = {
    "scenario": "text",
    "seed": "number",
    "duration_s": "number",
    "warmup_s": "number",
    "digest": "text",
    "engine": "table",
    "deadlock": "table?",
    "series": "list",
    **dict.fromkeys(set(TABLES).difference(YOUNGER_TABLES), "list?"),
}
# Larger tables are null in `result.json`: of a hundred thousand flows the text would take 200 MB.
_MOST_ROWS_AS_TEXT = 10_000


@dataclass(frozen=True)
class Engine:
    """Cost of a run: packets simulated, CPU time and memory. It varies from run to run and is not part of the digest.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> result = fb.run("examples/first.toml", overrides=short)
        >>> result.engine.packet_hops > result.engine.events > 0
        True

    """

    packet_hops: int
    """Packet-hops: each is one packet, data or ACK, that crosses one link."""
    events: int
    """Turns of the parts of the network."""
    threads: int
    """Threads that ran it."""
    cpu_s: float
    """CPU time of these threads in seconds."""
    packet_hops_per_cpu_s: float
    """Packet-hops per CPU second."""
    peak_rss_bytes: int
    """The most memory that the whole process has held so far, in bytes."""


@dataclass(frozen=True)
class Deadlock:
    """Links that PAUSE stops in a ring, so that none of them ever sends again."""

    links: list[str]
    """Names of the links: each waits for the next, and the last for the first."""
    since_s: float
    """Time at which the last of them stopped sending, in seconds."""


@dataclass(frozen=True)
class RunWarning:
    """A simplification of the model, or a property of the run, that its user may not expect."""

    text: str
    """The property, with the names of what it concerns."""
    remedy: str
    """How to avoid it."""


@dataclass(frozen=True, eq=False)
class Result:
    """The results of one run.

    Tables count the interval from `warmup_s` to `duration_s`; time series cover the whole run. All tables are Polars
    frames. A value that does not exist, such as the delay of a flow that delivered no packet, is null.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> result = fb.run("examples/first.toml", overrides=short)
        >>> result.queues.select("name", "discipline").rows()
        [('bottleneck', 'drop_tail')]
        >>> result.save("out/first")
        >>> fb.load("out/first").digest == result.digest
        True

    """

    scenario: str
    """Name of the scenario."""
    seed: int
    """The seed of the run."""
    duration_s: float
    """Simulated time in seconds."""
    warmup_s: float
    """Seconds at the start that tables leave out."""
    flows: pl.DataFrame = field(repr=False)
    """One row per flow: `goodput_bps`, `packets_dropped`, `delay_p99_s` and others."""
    queues: pl.DataFrame = field(repr=False)
    """One row per queue: `length_mean_packets`, drops by reason and others; in an Ethernet also what the port counted:
    `paused_s`, `frames_lost` and others."""
    links: pl.DataFrame = field(repr=False)
    """One row per link: `name`, `rate_bps`, `utilization`, `packets`, `bytes`, `packets_lost`,
    `packets_duplicated`."""
    queue_flows: pl.DataFrame = field(repr=False)
    """One row per flow and direction at each queue: arrivals, drops, marks, waiting time, and the state that the
    discipline keeps of the flow."""
    adapters: pl.DataFrame = field(repr=False)
    """One row per adapter of an Ethernet: `paused_s`, `source_drops` and others. Empty in other networks."""
    transfers: pl.DataFrame = field(repr=False)
    """One row per flow with `app.transfers`: arrived, waited and completed, and their times. Empty without such flows.
    With `out`, the file `completions.parquet` has a row for each transfer."""
    all_series: tuple[Series, ...] = field(repr=False)
    """The time series that the scenario's `[probes]` ask for."""
    engine: Engine
    """Cost of the run."""
    digest: str
    """A hash of the results: equal digests mean equal results, bit for bit. It leaves out `state_bytes`, `jitter_s`,
    `source`, `destination`, `line`, `size_bytes`, `fct_s`, `base_s`, `slowdown`, `delays`, `completion_times`,
    `equal_paths`, `collectives`, `ranks`, and the series `paused_share` and `memory_bytes`."""
    deadlock: Deadlock | None = None
    """Links of an Ethernet that had stopped each other for good when the run ended, or None."""
    warnings: tuple[RunWarning, ...] = ()
    """Simplifications and properties of the run that its user may not expect."""
    delays: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """Delays of delivered packets by group of flows: `packets` had no more than `delay_s` and more than in the row
    before. Empty in results of older versions."""
    videos: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """One row per flow with `app.video`: bitrate, its changes, start-up time, stalls. Empty without such flows."""
    pages: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """One row per flow with `app.web`: pages, and the times that they took. Empty without such flows."""
    pings: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """One row per ping: its round-trip times. Empty without pings."""
    completion_times: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """Completion times and slowdowns of flows of a given size that started after the warm-up: one row per group and
    range of sizes, with mean and percentiles. Empty without such flows."""
    equal_paths: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """How evenly equal paths are used: one row per link of each set of equal next hops that packets took. Empty without
    such a set."""
    collectives: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """One row per repetition of a collective operation, and per trace: its time and bus bandwidth. Empty without such
    groups."""
    ranks: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    """One row per host of a group whose messages wait for others: its tasks, and when it had done them. Empty without
    such groups."""

    @classmethod
    def from_core(cls, raw: RawResult) -> Self:
        """Take the core's columns without copying them."""
        return cls(
            scenario=raw.scenario,
            seed=raw.seed,
            duration_s=raw.duration_s,
            warmup_s=raw.warmup_s,
            all_series=tuple(
                Series(**{**cast("dict[str, Any]", series), "states": tuple(series.get("states", ()))})
                for series in raw.series
            ),
            engine=Engine(**raw.engine),
            digest=raw.digest,
            flows=frame_of(raw.flows),
            queues=frame_of(raw.queues),
            links=frame_of(raw.links),
            queue_flows=frame_of(raw.queue_flows),
            adapters=frame_of(raw.adapters),
            transfers=frame_of(raw.transfers),
            deadlock=None if raw.deadlock is None else Deadlock(**raw.deadlock),
            warnings=tuple(RunWarning(**warning) for warning in raw.warnings),
            delays=frame_of(raw.delays),
            videos=frame_of(raw.videos),
            pages=frame_of(raw.pages),
            pings=frame_of(raw.pings),
            completion_times=frame_of(raw.completion_times),
            equal_paths=frame_of(raw.equal_paths),
            collectives=frame_of(raw.collectives),
            ranks=frame_of(raw.ranks),
        )

    def series(self, kind: SeriesKind, name: str | None = None, quantity: str | None = None) -> pl.DataFrame:
        """Return time series as one long frame.

        Args:
            kind: `"queue"`, `"flow"`, `"link"`, `"sender"` or `"queue_flow"`.
            name: A component; all of the kind by default.
            quantity: A quantity, such as `"length_packets"`; all of them by default.

        Returns:
            One row per value: `time_s`, `name`, `quantity`, `value`.

        Raises:
            InputError: If there is no such series.

        Example:
            >>> short = {"duration": "2 s", "warmup": "1 s"}
            >>> result = fb.run("examples/first.toml", overrides=short)
            >>> result.series("queue", "bottleneck", "length_packets").columns
            ['time_s', 'name', 'quantity', 'value']

        """
        return long_frame(self.find_series(kind, name, quantity))

    def find_series(self, kind: SeriesKind, name: str | None = None, quantity: str | None = None) -> list[Series]:
        """Return the series that `series` puts into a frame, one object each. Raises InputError if there is none."""
        if kind not in get_args(SeriesKind):
            message = f"there are no series of kind {kind!r}\nhint: it is one of {listed(get_args(SeriesKind))}"
            raise InputError(message)
        chosen = [series for series in self.all_series if series.kind == kind]
        if not chosen:
            section = {"queue": "queues", "flow": "flows", "link": "links"}.get(kind)
            remedy = f'series = ["{section}"]' if section else {"sender": 'senders = ["FLOW"]'}.get(kind, "flow_gauges")
            message = f"the run recorded no {kind} series\nhint: ask for them in the scenario: [probes] {remedy}"
            raise InputError(message)
        return narrowed(chosen, name, quantity, f"{kind} series")

    def delay_distribution(self) -> pl.DataFrame:
        """Return the cumulative distribution of one-way delays of each group of flows.

        Returns:
            One row per step of the histogram: `group`, `delay_s`, and `share`, the part of the delivered packets with
            no more than that delay. Without rows if an older version wrote the result.

        Example:
            >>> short = {"duration": "2 s", "warmup": "1 s"}
            >>> result = fb.run("examples/first.toml", overrides=short)
            >>> result.delay_distribution().tail(1).select("group", "share").rows()
            [('flood', 1.0)]

        """
        if self.delays.is_empty():
            return pl.DataFrame(schema={"group": pl.String, "delay_s": pl.Float64, "share": pl.Float64})
        keys = ("group", "kind")
        several = pl.col("kind").n_unique().over("group") > 1
        return self.delays.select(
            pl.when(several).then(pl.format("{} ({})", *keys)).otherwise(pl.col("group")).alias("group"),
            "delay_s",
            share(keys),
        )

    @cached_property
    def hosts(self) -> pl.DataFrame:
        """Rates of each host as sender and as receiver: sums over its flows.

        A host has one row as the `source` of flows and one as their `destination`, if it is both. In a home
        (`topology.home`) only flows count whose data cross its line. So the rows are of the hosts behind the gateway,
        not of servers: a `source` sends up, a `destination` receives down. Requests (`NAME/request`) do not count.

        Columns: `name`, `by` (`"source"` or `"destination"`), `flows` (how many), `goodput_bps` and `throughput_bps`
        (sums over these flows in bit/s). Without rows if an older version wrote the result.

        Example:
            >>> short = {"duration": "4 s", "warmup": "2 s"}
            >>> result = fb.run("examples/home.toml", overrides=short)
            >>> result.hosts.select("name", "by", "flows").rows()[-2:]
            [('tablet', 'destination', 1), ('desk', 'destination', 1)]

        """
        frames = [frame for by in ENDS if (frame := self._hosts(by)) is not None]
        schema = {"name": pl.String, "by": pl.String, "flows": pl.Int64, **dict.fromkeys(_RATES, pl.Float64)}
        return pl.concat(frames) if frames else pl.DataFrame(schema=schema)

    def _hosts(self, by: End) -> pl.DataFrame | None:
        if by not in self.flows.columns:
            return None
        hosts = Hosts.of(self.flows.to_dict(), by)
        return pl.DataFrame(
            {
                "name": pl.Series(hosts.names, dtype=pl.String),
                "by": pl.Series([by] * len(hosts.names), dtype=pl.String),
                "flows": pl.Series(hosts.flows(), dtype=pl.Int64),
                **{name: pl.Series(hosts.sums(self.flows.get_column(name)), dtype=pl.Float64) for name in _RATES},
            }
        )

    def jain_of_hosts(self, by: End, column: Literal["goodput_bps", "throughput_bps"] = "goodput_bps") -> float | None:
        """Return Jain's fairness index of the hosts: 1 if all have the same, 1/n if one of n has everything.

        The index takes no account of what hosts want. One that offers less than its share lowers it.

        Args:
            by: `"source"` for what hosts send, `"destination"` for what they receive; see `hosts`.
            column: The rate that is shared, in bit/s.

        Returns:
            The index, or None if there is no such host or nothing got through.

        Example:
            >>> short = {"duration": "4 s", "warmup": "2 s"}
            >>> result = fb.run("examples/home.toml", overrides=short)
            >>> 0.25 <= result.jain_of_hosts("destination") <= 1.0
            True

        """
        if by not in ENDS:
            message = f"hosts are counted by {listed(ENDS)}, not by {by!r}"
            raise InputError(message)
        rates = self.hosts.filter(pl.col("by") == by).get_column(column).to_numpy()
        index = jain(rates)
        return None if math.isnan(index) else index

    @cached_property
    def plot(self) -> Plots:
        """Figures of the run: `result.plot.goodput()`, `result.plot.queue("bottleneck")` and others."""
        return forebay.plot.Plots(self)

    def _repr_html_(self) -> str:
        document = self.to_rows(series=False)
        return display.notebook.html(lambda width: display.summary.result_tables(document, width))

    def to_dict(self, *, series: bool = True) -> Document:
        """Return the whole result as plain values, with None for a value that does not exist.

        Args:
            series: Whether to include the values of the time series.

        """
        return self.to_rows(series=series) | {table: getattr(self, table).to_dicts() for table in TABLES}

    def to_rows(self, *, series: bool = True) -> Document:
        """Return the same as `to_dict`, with tables of `Rows`."""
        return {
            **{key: getattr(self, key) for key in ("scenario", "seed", "duration_s", "warmup_s")},
            **{table: Rows(getattr(self, table).to_dict()) for table in TABLES},
            "deadlock": None if self.deadlock is None else asdict(self.deadlock),
            "warnings": [asdict(warning) for warning in self.warnings],
            "series": [entry.to_dict(values=series) for entry in self.all_series],
            "engine": asdict(self.engine),
            "digest": self.digest,
        }

    def to_json(self, *, series: bool = True) -> str:
        """Return the whole result as one JSON document, as `forebay run --json` prints it.

        Args:
            series: Whether to include the values of the time series.

        """
        return json_text(self.to_rows(series=series))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write tables and series as Parquet, and all but the values of the series as `result.json`.

        Tables of more than 10 000 rows are in their Parquet files alone. Either all files appear or none.

        Args:
            folder: Where to write. It is made if it does not exist.

        Raises:
            InputError: If the folder cannot be written.

        """
        with staged(folder) as staging:
            self.write_files(staging)

    def write_files(self, folder: Path) -> None:
        """Write the files of `save` one by one."""
        for table in TABLES:
            frame: pl.DataFrame = getattr(self, table)
            # Only an Ethernet has adapters, and only some flows have transfers, videos, pages, pings or a size.
            if frame.width:
                write_frame(frame, folder / f"{table}.parquet")
        write_frame(self.delays, folder / DELAYS_FILE)
        if self.all_series:
            kinds = dict.fromkeys(series.kind for series in self.all_series)
            frames = [self.series(kind).select(pl.lit(kind).alias("kind"), pl.all()) for kind in kinds]
            write_frame(pl.concat(frames), folder / SERIES_FILE)
        with (folder / RESULT_FILE).open("w", encoding="utf-8") as file:
            document = self.to_rows(series=False)
            large = [table for table in TABLES if len(document[table]) > _MOST_ROWS_AS_TEXT]
            file.writelines(json_parts(document | dict.fromkeys(large)))
            file.write("\n")

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a result that `Result.save`, `run` with `out`, or `forebay run --out` wrote.

        Args:
            folder: The folder of the result.

        Raises:
            InputError: If the folder holds no complete result.

        Example:
            >>> short = {"duration": "2 s", "warmup": "1 s"}
            >>> result = fb.run("examples/first.toml", overrides=short, out="out/loaded")
            >>> fb.load("out/loaded").flows.equals(result.flows)
            True

        """
        path = Path(folder)
        absent, write = f"{path} holds no complete result", f"`forebay run SCENARIO.toml --out {path}` writes one"
        with reading(f"the result in {path}", absent=absent, write=write, again="run the scenario again"):
            document = read_document(path / RESULT_FILE)
            if "capture" in document:
                message = f"{path} holds a replay, not a run\nhint: `forebay plot {path}` draws it"
                raise InputError(message)
            kept: dict[str, Any] = {
                key: document[key] for key in ("scenario", "seed", "duration_s", "warmup_s", "digest")
            }
            check_kinds(document, _KINDS, RESULT_FILE)
            check_kinds(document["engine"], dict.fromkeys(get_type_hints(Engine), "number"), "engine")
            check_kinds(document, {table: "list?" for table in YOUNGER_TABLES if table in document}, RESULT_FILE)
            for table in TABLES:
                rows = document.get(table, [])
                kept[table] = read_table(path / f"{table}.parquet", has_rows=rows is None or bool(rows))
            for table, texts in _TEXTS.items():
                if kept[table].columns:
                    check_columns(kept[table], texts, f"{table}.parquet")
            # Older versions wrote no warnings.
            warnings = document.get("warnings", [])
            for warning in warnings:
                check_kinds(warning, {"text": "text", "remedy": "text"}, "warnings")
            return cls(
                engine=Engine(**document["engine"]),
                deadlock=None if document["deadlock"] is None else Deadlock(**document["deadlock"]),
                warnings=tuple(RunWarning(**warning) for warning in warnings),
                all_series=read_series(path / SERIES_FILE, document["series"]),
                delays=read_delays(path / DELAYS_FILE, ("group", "kind")),
                **kept,
            )


load = Result.load
"""Read a result that `Result.save`, `run` with `out`, or `forebay run --out` wrote."""
