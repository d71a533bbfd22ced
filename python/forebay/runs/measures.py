"""The numbers of one run by which runs are compared: of all flows and a queue, and of each group of flows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .fairness import jain
from .hosts import shares_of_hosts
from .outcome import data_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from forebay.result import Result

    Tables = Mapping[str, Mapping[str, NDArray[Any]]]

GROUP_METRICS = (
    "goodput_bps",
    "goodput_total_bps",
    "jain",
    "loss",
    "delay_mean_s",
    "delay_p50_s",
    "delay_p99_s",
    "jitter_s",
)
"""Columns of each group of flows; `goodput_bps` is the mean of its flows."""

QUEUE_METRICS = (*GROUP_METRICS, "utilization", "length_mean_packets", "state_bytes")
"""Of all flows, and of the queue and its link; `goodput_bps` is the mean of a flow."""

HOST_METRICS = ("jain_source", "jain_destination")
"""Jain's index of the goodputs of hosts that send or receive, in runs where they share otherwise than flows."""


COMPLETION_METRICS = (
    "fct_mean_s",
    "fct_p50_s",
    "fct_p99_s",
    "slowdown_mean",
    "slowdown_p50",
    "slowdown_p99",
    "unfinished",
)
"""Completion times of flows of a given size, in runs that have such flows."""


@dataclass(frozen=True)
class Measures:
    """The numbers of one run; NaN where there is none."""

    queue: dict[str, float]
    """`QUEUE_METRICS`, and those of `HOST_METRICS` that the run has; `COMPLETION_METRICS` if one group has them."""
    groups: dict[str, dict[str, float]]
    """`GROUP_METRICS` of each group, and `COMPLETION_METRICS` of those with flows of a given size."""
    flows: dict[str, int]
    """How many flows each group has."""
    arrivals: dict[str, float]
    """Data packets of each flow that arrived at the queue; its cost is measured with them."""
    load: float
    """The arrivals at the queue, as a multiple of its link's rate."""
    packet_bytes: float
    """Mean length of the packets that the link sent."""
    rate_bps: float
    """Rate of the link."""


def measure(tables: Tables, links: Sequence[str], measured_s: float) -> Measures:
    """Reduces the result tables of a run to what is compared, at the queues in front of `links` together.

    `measured_s` is the simulated time that the tables cover, in seconds.
    """
    flows, at_queue = tables["flows"], _flows_at(tables, links)
    names = [str(name) for name in flows["name"]]
    groups = [str(group) for group in flows["group"]]
    arrived = np.array([at_queue.get(name, (0.0, 0.0))[0] for name in names])
    dropped = np.array([at_queue.get(name, (0.0, 0.0))[1] for name in names])
    goodput = np.asarray(flows["goodput_bps"], dtype=np.float64)
    by_group: dict[str, dict[str, float]] = {}
    completion = _completion(tables.get("completion_times", {}))
    for group in dict.fromkeys(groups):
        members = np.array([it == group for it in groups])
        by_group[group] = {
            "goodput_bps": float(goodput[members].mean()),
            "goodput_total_bps": float(goodput[members].sum()),
            "jain": jain(goodput[members]),
            "loss": _ratio(dropped[members].sum(), arrived[members].sum()),
            **_delays(flows, members),
            **completion.get(group, {}),
        }
    everyone = np.ones(len(names), dtype=bool)
    queues, wires = _rows(tables["queues"], links), _rows(tables["links"], links)
    packets = float(queues["packets_arrived"].sum())
    packet_bytes = _ratio(float(wires["bytes"].sum()), float(wires["packets"].sum()))
    queue = {
        "goodput_bps": float(goodput.mean()),
        "goodput_total_bps": float(goodput.sum()),
        "jain": jain(goodput),
        "loss": _ratio(float(queues["packets_dropped"].sum()), packets),
        **_delays(flows, everyone),
        "utilization": _mean(wires["utilization"]),
        "length_mean_packets": _mean(queues["length_mean_packets"]),
        "state_bytes": float(queues["state_bytes"].sum()),
        **{
            f"jain_{by}": math.nan if shares.jain is None else shares.jain
            for by, shares in shares_of_hosts(flows, tables["queue_flows"]).items()
        },
        **(next(iter(completion.values())) if len(completion) == 1 else {}),
    }
    capacity_bits = float(wires["rate_bps"].sum()) * measured_s
    return Measures(
        queue=queue,
        groups=by_group,
        flows={group: groups.count(group) for group in by_group},
        arrivals=dict(zip(names, arrived.tolist(), strict=True)),
        load=_ratio(packets * packet_bytes * 8.0, capacity_bits),
        packet_bytes=packet_bytes,
        rate_bps=_mean(wires["rate_bps"]),
    )


def measure_result(result: Result, links: Sequence[str]) -> Measures:
    """Return the same of a saved run."""
    tables = {
        table: {column: frame.get_column(column).to_numpy() for column in frame.columns}
        for table, frame in (
            ("flows", result.flows),
            ("queues", result.queues),
            ("links", result.links),
            ("queue_flows", result.queue_flows),
            ("completion_times", result.completion_times),
        )
    }
    return measure(tables, links, result.duration_s - result.warmup_s)


def _completion(table: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, float]]:
    """Return the completion metrics of all flows of each group that has any."""
    if not len(table.get("sizes", ())):
        return {}
    rows = [place for place, sizes in enumerate(table["sizes"]) if str(sizes) == "all"]
    return {str(table["group"][row]): {name: float(table[name][row]) for name in COMPLETION_METRICS} for row in rows}


def _flows_at(tables: Tables, links: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Arrivals and drops of each flow's data at the queues together."""
    table = tables["queue_flows"]
    found: dict[str, tuple[float, float]] = {}
    wanted = frozenset(links)
    columns = (table["queue"], table["flow"], table["packets_arrived"], table["packets_dropped"])
    rows = zip(data_rows(table).tolist(), *(column.tolist() for column in columns), strict=True)
    for is_data, queue, flow, arrived, dropped in rows:
        if is_data and queue in wanted:
            before = found.get(flow, (0.0, 0.0))
            found[flow] = (before[0] + float(arrived), before[1] + float(dropped))
    return found


def _rows(table: Mapping[str, NDArray[Any]], names: Sequence[str]) -> dict[str, NDArray[Any]]:
    wanted = frozenset(names)
    chosen = np.array([str(name) in wanted for name in table["name"]], dtype=bool)
    return {column: values[chosen] for column, values in table.items()}


def _delays(flows: Mapping[str, NDArray[Any]], members: NDArray[np.bool_]) -> dict[str, float]:
    """Return mean, percentiles and jitter of the flows' one-way delays, averaged over flows by delivered packets."""
    weights = np.asarray(flows["packets_delivered"], dtype=np.float64)[members]
    found = {}
    for name in ("delay_mean_s", "delay_p50_s", "delay_p99_s", "jitter_s"):
        if name not in flows:
            # A run of a version without jitter.
            found[name] = math.nan
            continue
        values = np.asarray(flows[name], dtype=np.float64)[members]
        known = np.isfinite(values)
        found[name] = _ratio(float((values[known] * weights[known]).sum()), float(weights[known].sum()))
    return found


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if values.size else math.nan


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below > 0 else math.nan
