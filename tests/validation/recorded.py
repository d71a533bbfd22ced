"""Compares Forebay with results of ns-2 2.35 that were recorded for 22 scenarios: the second part of `make validate`.

`recorded/` has Forebay's scenarios; `recorded/ns2.csv` has ns-2's means over five seeds with the half-width of their
95 % confidence interval, and the tolerance. ns-2 itself is not needed.

A metric agrees if the mean of Forebay's seeds is within the tolerance of ns-2's mean. Small counts have a floor
(`FLOORS`), since five timeouts more or less are chance. If the mean is outside but the two confidence intervals
overlap, the verdict is "scatter", which is no failure. A known difference (`KNOWN`) is listed with its reason.
"""

import csv
import json
import math
import statistics
import tomllib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from forebay.runs.statistics import estimate_mean

FOLDER = Path(__file__).resolve().parent / "recorded"

SEEDS = 6

OUTSIDE = "OUTSIDE"


# The difference that chance makes in a small number: timeouts and retransmissions, and percent of packets.
FLOORS = {"rto": 5.0, "rex": 5.0, "drop%": 0.05, "mark%": 0.05}

# Transfers of `webdt` by their size: small ones have at most 5000 B, large ones more than 30000 B.
_SIZES = {"fctS": (0, 5_000), "fctM": (5_000, 30_000), "fctL": (30_000, math.inf)}

_LIMITED_TRANSMIT = (
    "After a timeout ns-2's limited transmit sends old data again, from the place to which the timeout has set "
    "the sender back; RFC 3042 and Forebay send new data or nothing. With limited transmit off in both, they agree."
)
_SPARE = (
    "Bandwidth that an idle class leaves goes to the busy classes by their shares; in ns-2 its division depends on the "
    "estimators of the classes."
)
_INSTANT = (
    "In these cases packets meet at equal instants again and again, and ns-2's order of events favours some flows. "
    "With 1 us of random delay in its senders ns-2 agrees with Forebay: experiments instant and instant-web."
)
KNOWN: Mapping[str, tuple[str, ...]] = {
    _LIMITED_TRANSMIT: (
        "red50 short.rex",
        "red50 long.rex",
        "redecn50 short.rto",
        "redecn50 long.rto",
        "redecn150 mark%0",
        "redecn150 t.mbps",
        "redecn150 t.rex",
        "cbq z.rex",
        "ared t.rex",
        "delack one.rex",
        "delack two.rex",
        "lotdt through.mbps",
        "lotdt through.rex",
        "lotred through.rex",
        "redbytes big.rex",
        "slow t.rex",
    ),
    _SPARE: ("cbqidle y.mbps", "cbqidle z.mbps"),
    _INSTANT: (
        "webdt q0",
        "twins q0",
        "twins drop%0",
        "twins first.jain",
        "twins first.rto",
        "twins first.rex",
        "twins first.drop%",
        "twins second.jain",
        "twins second.rto",
        "twins second.rex",
        "twins second.drop%",
    ),
}
"""Rows outside the tolerance whose cause is understood, by the reason."""


@dataclass(frozen=True)
class Recorded:
    """ns-2's value of a metric."""

    case: str
    metric: str
    mean: float
    ci95: float
    tolerance_percent: float | None

    @property
    def name(self) -> str:
        """Case and metric, as in `KNOWN`."""
        return f"{self.case} {self.metric}"

    @property
    def width(self) -> float:
        """Largest difference that is within the tolerance; without a tolerance, none."""
        share = (self.tolerance_percent or 0.0) / 100 * abs(self.mean)
        quantity = self.metric.rpartition(".")[2].rstrip("0123r")
        return max(share, FLOORS.get(quantity, 0.0))


@dataclass(frozen=True)
class Agreement:
    """A metric of both simulators, and the verdict."""

    recorded: Recorded
    mean: float
    ci95: float

    @property
    def known(self) -> str | None:
        """Reason of a known difference."""
        return next((reason for reason, rows in KNOWN.items() if self.recorded.name in rows), None)

    @property
    def verdict(self) -> str:
        """`within`, `scatter`, `known` or `OUTSIDE`."""
        difference = abs(self.mean - self.recorded.mean)
        if difference <= self.recorded.width:
            return "within"
        if self.known:
            return "known"
        return "scatter" if difference <= self.recorded.ci95 + self.ci95 else OUTSIDE

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "case": self.recorded.case,
            "metric": self.recorded.metric,
            "ns2_recorded": self.recorded.mean,
            "ns2_ci95": self.recorded.ci95,
            "forebay": self.mean,
            "forebay_ci95": self.ci95,
            "tolerance_percent": self.recorded.tolerance_percent,
            "verdict": self.verdict,
        }


def read_recorded(folder: Path = FOLDER) -> dict[str, list[Recorded]]:
    """All recorded values, by case."""
    cases: dict[str, list[Recorded]] = {}
    with (folder / "ns2.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            tolerance = float(row["tolerance_percent"]) if row["tolerance_percent"] else None
            recorded = Recorded(row["case"], row["metric"], float(row["ns2_mean"]), float(row["ns2_ci95"]), tolerance)
            cases.setdefault(row["case"], []).append(recorded)
    return cases


def metrics_of(result: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, float]:
    """The metrics of one run, from its JSON; `sizes` are the bytes of single transfers, by group."""
    found: dict[str, float] = {}
    first = result["queues"][0]["name"]
    start, _, end = first.partition("->")
    for index, queue in enumerate(result["queues"]):
        place = "0r" if queue["name"] == f"{end}->{start}" else str(index)
        found[f"q{place}"] = queue["length_mean_packets"]
        for metric, counter in (("drop", "packets_dropped"), ("mark", "packets_marked")):
            found[f"{metric}%{place}"] = percent(queue[counter], queue["packets_arrived"])
    at_first = {
        entry["flow"]: entry
        for entry in result["queue_flows"]
        if entry["queue"] == first and entry["direction"] == "data"
    }
    groups: dict[str, list[dict[str, Any]]] = {}
    for flow in result["flows"]:
        groups.setdefault("web" if flow["group"] in sizes else flow["group"], []).append(flow)
    for group, flows in groups.items():
        rates = [flow["goodput_bps"] for flow in flows]
        entries = [at_first[flow["name"]] for flow in flows if flow["name"] in at_first]
        dropped, arrived = (sum(entry[f"packets_{which}"] for entry in entries) for which in ("dropped", "arrived"))
        found[f"{group}.mbps"] = statistics.fmean(rates) / 1e6
        found[f"{group}.jain"] = sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates) or 1)
        found[f"{group}.rto"] = sum(flow["timeouts"] or 0 for flow in flows)
        found[f"{group}.rex"] = sum(flow["packets_retransmitted"] or 0 for flow in flows)
        found[f"{group}.drop%"] = percent(dropped, arrived)
    transfers = [(sizes[flow["group"]], flow["finished_s"], flow["start_s"]) for flow in groups.get("web", ())]
    if transfers:
        found["web.unfinished"] = sum(end is None for _, end, _ in transfers)
        for metric, (above, most) in _SIZES.items():
            times = [end - start for size, end, start in transfers if end is not None and above < size <= most]
            found[f"web.{metric}"] = statistics.fmean(times)
    return found


def percent(part: float, whole: float) -> float:
    """Part of a whole in percent; 0 of nothing."""
    return 100 * part / whole if whole else 0.0


def transfer_sizes(scenario: Path) -> dict[str, int]:
    """Bytes of each group that makes a single transfer."""
    groups = tomllib.loads(scenario.read_text())["flows"]
    fixed = {group["name"]: group["app"]["fixed"]["size"] for group in groups if "app" in group}
    return {name: int(size.removesuffix(" B")) for name, size in fixed.items()}


def compare_recorded(
    cases: Iterable[str], seeds: int, jobs: int, run: Callable[[Path, int], str], done: Callable[[], object]
) -> list[Agreement]:
    """Runs the cases with `run`, which returns the JSON of a scenario under a seed, and compares every metric."""
    recorded = read_recorded()
    tasks = [(case, seed) for case in cases for seed in range(1, seeds + 1)]
    sizes = {case: transfer_sizes(FOLDER / f"{case}.toml") for case, _ in tasks}

    def measured(task: tuple[str, int]) -> dict[str, float]:
        case, seed = task
        metrics = metrics_of(json.loads(run(FOLDER / f"{case}.toml", seed)), sizes[case])
        done()
        return metrics

    with ThreadPoolExecutor(jobs) as pool:
        runs = list(zip(tasks, pool.map(measured, tasks), strict=True))
    agreements = []
    for case in dict.fromkeys(case for case, _ in tasks):
        for row in recorded[case]:
            values = [metrics[row.metric] for (its, _), metrics in runs if its == case]
            estimate = estimate_mean(np.array(values))
            agreements.append(Agreement(row, estimate.mean, estimate.ci95 or 0.0))
    return agreements


def print_agreements(agreements: list[Agreement], console: Console, number: Callable[[float], str]) -> None:
    """The table of all rows, the known differences by reason, and the counts."""
    table = Table(title="Recorded results of ns-2", title_justify="left")
    for column in ("case", "metric"):
        table.add_column(column, no_wrap=True)
    for column in ("ns-2 recorded ± 95 %", "Forebay ± 95 %", "tolerance", ""):
        table.add_column(column, justify="right", no_wrap=True)
    colours = {"within": "green", "known": "yellow", "scatter": "yellow", OUTSIDE: "bold red"}
    previous = ""
    for one in agreements:
        table.add_row(
            "" if one.recorded.case == previous else one.recorded.case,
            one.recorded.metric,
            f"{one.recorded.mean:g} ±{one.recorded.ci95:.2g}",
            f"{number(one.mean)} ±{one.ci95:.2g}",
            f"±{one.recorded.width:.3g}",
            f"[{colours[one.verdict]}]{one.verdict}[/]",
        )
        previous = one.recorded.case
    console.print(table)
    for reason in KNOWN:
        rows = [one.recorded.name for one in agreements if one.verdict == "known" and one.known == reason]
        if rows:
            console.print(f"known difference: {reason} Rows: {', '.join(rows)}.")
    scattered = [one.recorded.name for one in agreements if one.verdict == "scatter"]
    if scattered:
        console.print(f"scatter: the confidence intervals overlap: {', '.join(scattered)}.")
    counts = {verdict: sum(one.verdict == verdict for one in agreements) for verdict in colours}
    colour = "red" if counts[OUTSIDE] else "green"
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    console.print(f"[{colour}]of {len(agreements)} recorded metrics: {words}[/]")
