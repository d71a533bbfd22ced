"""The numbers of a comparison, for its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of a comparison, without the methods that show and save it."""

    scenario: str
    """Name of the scenario; of finished runs of several scenarios, all their names."""
    description: str | None
    """Description of the scenario, or None."""
    warmup_s: float
    """Seconds at the start that the numbers leave out."""
    duration_s: float
    """Simulated time of each run in seconds."""
    rate_bps: float
    """Rate of the link behind the queue in bit/s."""
    table: pl.DataFrame = field(repr=False)
    """One row per queue: `queue`, `discipline`, `seeds`; then `goodput_bps` (the mean of a flow), `goodput_total_bps`,
    `jain`, `loss`, `delay_mean_s`, `delay_p50_s`, `delay_p99_s`, `jitter_s`, `utilization`, `length_mean_packets` and
    `state_bytes`, each followed by its `…_ci95`; and `cpu_ns_per_packet`. If hosts have several flows, there are also
    `jain_source` and `jain_destination`: Jain's index of what hosts send and receive."""
    groups: pl.DataFrame = field(repr=False)
    """One row per queue and group of flows: `queue`, `discipline`, `group`, `flows` (their number); then `goodput_bps`
    (the mean of a flow), `goodput_total_bps`, `jain`, `loss`, `delay_mean_s`, `delay_p50_s`, `delay_p99_s` and
    `jitter_s`, each followed by its `…_ci95`."""
    runs: pl.DataFrame = field(repr=False)
    """One row per run: `queue`, `discipline`, `seed`, and the metrics that `table` holds the means of."""
    parameters: Mapping[str, str] = field(repr=False)
    """Each queue as it was run, as TOML on one line, by its label."""
    toml: str = field(repr=False)
    """The scenario as TOML; empty for finished runs of several scenarios."""
    left_out: tuple[str, ...] = ()
    """Disciplines of `"all"` that do not fit the scenario, each with the reason."""
    fitted: Mapping[str, Mapping[str, str | float]] = field(default_factory=dict, repr=False)
    """Parameters of each queue that were not given and follow from the link and its buffer, by its label."""
    at: str = ""
    """The path of the queue that was replaced, if it was given."""
    several_queues: bool = False
    """Whether `utilization` and `length_mean_packets` are means over several queues, such as all ports of an Ethernet.
    """

    def wide(self) -> pl.DataFrame:
        """Return `table` with a column for each metric of each group added, such as `tcp.goodput_bps`.

        This is what `save` writes as CSV.
        """
        wide = self.table
        for group in self.group_names:
            columns = self.groups.filter(pl.col("group") == group).drop("discipline", "group")
            wide = wide.join(columns.rename({name: f"{group}.{name}" for name in columns.columns[1:]}), on="queue")
        return wide

    @property
    def group_names(self) -> list[str]:
        """Names of the groups of flows, in the scenario's order."""
        return self.groups.get_column("group").unique(maintain_order=True).to_list()

    def of_group(self, group: str) -> pl.DataFrame:
        """Return the rows of `groups` for one group, in the order of `table`."""
        return self.groups.filter(pl.col("group") == group)
