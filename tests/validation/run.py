"""Compares Forebay with ns-2 2.35 on the same scenarios: `make validate`.

Two parts: the experiments of `expected.toml`, which ns-2 can repeat, and the recorded cases of `recorded.py`.

`expected.toml` holds ns-2's measurements and Forebay's tolerances; `scenarios/` Forebay's scenarios; `ns2/` the
scripts that produced ns-2's numbers. Forebay always runs. Where `ns` is installed the scripts run too, so that one sees
that the recorded values are ns-2's; they are what Forebay is judged by.

Exit status: 0 all within, 1 some metric outside its tolerance, 2 a run failed or the command line is wrong.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table
from tests.validation import recorded

HERE = Path(__file__).resolve().parent
FOREBAY = Path(sys.executable).with_name("forebay")

# Student's t at 97.5 % for 1, 2, ... degrees of freedom; beyond the list the normal distribution's quantile.
T_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip

# Every data packet of these scenarios, on the wire.
PACKET_BITS = 8 * 1000

Simulator = Literal["forebay", "ns-2"]


class RunFailedError(Exception):
    """A simulator did not deliver a result."""


@dataclass(frozen=True)
class Metric:
    """The compared metric, with ns-2's recorded value and the rule by which Forebay is judged, if any."""

    name: str
    recorded: float | str
    tolerance: str | None = None
    at_most: float | None = None
    between: tuple[float, float] | None = None
    why: str = ""

    @classmethod
    def read(cls, table: dict[str, Any]) -> "Metric":
        """From `expected.toml`."""
        bounds = table.get("between")
        return cls(
            name=table["metric"],
            recorded=table["recorded"],
            tolerance=table.get("tolerance"),
            at_most=table.get("at_most"),
            between=None if bounds is None else (bounds[0], bounds[1]),
            why=table.get("why", ""),
        )

    @property
    def allowed(self) -> tuple[float, float] | None:
        """The smallest and the largest value within; none if the metric is not judged."""
        if self.between is not None:
            return self.between
        if self.at_most is not None:
            return (-math.inf, self.at_most)
        if self.tolerance is None or isinstance(self.recorded, str):
            return None
        share = self.tolerance.removesuffix("%")
        width = float(share) / 100 * abs(self.recorded) if share != self.tolerance else float(share)
        return (self.recorded - width, self.recorded + width)

    @property
    def rule(self) -> str:
        """The rule as the table shows it."""
        if self.between is not None:
            return "range"
        if self.at_most is not None:
            return f"<= {self.at_most:g}"
        return f"±{self.tolerance}" if self.tolerance else "not judged"


@dataclass(frozen=True)
class Row:
    """One setting of one experiment, on both sides."""

    experiment: str
    name: str
    scenario: Path
    bottleneck: str
    overrides: tuple[str, ...]
    script: Path
    script_arguments: tuple[str, ...]
    forebay_seeds: int
    ns2_seeds: int
    metrics: tuple[Metric, ...]
    rate_mbps: float

    def seeds(self, simulator: Simulator) -> int:
        """Over how many seeds a simulator runs."""
        return self.forebay_seeds if simulator == "forebay" else self.ns2_seeds


@dataclass(frozen=True)
class Experiment:
    """A table or figure: its title and rows."""

    name: str
    title: str
    rows: tuple[Row, ...]


@dataclass
class Flow:
    """The counters of one flow in the measured interval."""

    group: str
    goodput_bps: float
    arrivals: float
    drops: float
    wait_s: float


@dataclass
class Outcome:
    """The measurements of one run."""

    span_s: float
    flows: list[Flow]
    queue_mean_packets: float | None
    rate_mbps: float

    def value(self, metric: str) -> float:
        """A metric by its name in `expected.toml`."""
        group, quantity = metric.split(".")
        if metric == "queue.utilization_percent":
            carried = sum(flow.arrivals - flow.drops for flow in self.flows)
            return 100 * carried * PACKET_BITS / self.span_s / (1e6 * self.rate_mbps)
        if group == "queue":
            return math.nan if self.queue_mean_packets is None else self.queue_mean_packets
        flows = [flow for flow in self.flows if flow.group == group]
        arrivals, drops = (sum(flow.arrivals for flow in flows), sum(flow.drops for flow in flows))
        goodputs_bps = [flow.goodput_bps for flow in flows]
        shares = [100 * flow.drops / flow.arrivals if flow.arrivals else 0.0 for flow in flows]
        return {
            "goodput_mbps": statistics.fmean(goodputs_bps) / 1e6,
            "goodput_kbps": statistics.fmean(goodputs_bps) / 1e3,
            "goodput_sum_mbps": sum(goodputs_bps) / 1e6,
            "jain": sum(goodputs_bps) ** 2 / (len(flows) * sum(rate**2 for rate in goodputs_bps) or 1),
            "at_zero": sum(rate == 0 for rate in goodputs_bps),
            "loss_mbps": drops * PACKET_BITS / self.span_s / 1e6,
            "drop_percent": 100 * drops / arrivals if arrivals else 0.0,
            "drop_percent_min": min(shares),
            "drop_percent_max": max(shares),
            "drops": drops,
            "wait_ms": 1e3 * statistics.fmean(flow.wait_s for flow in flows),
        }[quantity]


@dataclass
class Sample:
    """A metric over seeds."""

    values: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return statistics.fmean(self.values)

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % confidence interval of the mean; 0 for a single run."""
        count = len(self.values)
        if count < 2:
            return 0.0
        quantile = T_QUANTILES[count - 2] if count - 2 < len(T_QUANTILES) else 1.96
        return quantile * statistics.stdev(self.values) / math.sqrt(count)


def read_experiments(path: Path, seeds: int | None) -> list[Experiment]:
    """All experiments of `expected.toml`; `seeds`, if given, replaces the numbers of seeds there."""
    document = tomllib.loads(path.read_text())
    return [read_experiment(table, document["queues"], seeds) for table in document["experiments"]]


def read_experiment(table: dict[str, Any], queues: dict[str, dict[str, str]], seeds: int | None) -> Experiment:
    """One experiment; its settings apply to all its rows, those of a row come after."""
    rows = []
    for row in table["rows"]:
        overrides = [*table.get("set", ()), *row.get("set", ())]
        arguments = [*table.get("ns2", ()), *row.get("ns2", ())]
        if "queue" in row:
            queue = queues[row["queue"]]
            overrides.insert(0, f"{table['queue_at']}={queue['forebay']}")
            arguments.insert(0, queue["ns2"])
        rows.append(
            Row(
                experiment=table["id"],
                name=row["id"],
                scenario=HERE / "scenarios" / table["scenario"],
                bottleneck=table["bottleneck"],
                overrides=tuple(overrides),
                script=HERE / "ns2" / table["script"],
                script_arguments=tuple(arguments),
                forebay_seeds=seeds or table["seeds"],
                ns2_seeds=min(seeds or table["seeds"], table.get("ns2_seeds", table["seeds"])),
                metrics=tuple(Metric.read(metric) for metric in row["metrics"]),
                rate_mbps=table.get("rate_mbps", math.nan),
            )
        )
    return Experiment(table["id"], table["title"], tuple(rows))


def simulate(simulator: Simulator, row: Row, seed: int) -> Outcome:
    """Runs one row once."""
    return forebay_outcome(row, seed) if simulator == "forebay" else ns2_outcome(row, seed)


def forebay_outcome(row: Row, seed: int) -> Outcome:
    """Runs Forebay and reads its JSON."""
    overrides = [word for override in row.overrides for word in ("--set", override)]
    command = [str(FOREBAY), "run", str(row.scenario), "--json", "--seed", str(seed), *overrides]
    result = json.loads(standard_output(command))
    queue = next(queue for queue in result["queues"] if queue["name"] == row.bottleneck)
    at_queue = {
        entry["flow"]: entry
        for entry in result["queue_flows"]
        if entry["queue"] == row.bottleneck and entry["direction"] == "data"
    }
    flows = []
    for flow in result["flows"]:
        entry = at_queue[flow["name"]]
        wait_s = entry["wait_mean_s"] or 0.0
        group = flow["group"]
        flows.append(Flow(group, flow["goodput_bps"], entry["packets_arrived"], entry["packets_dropped"], wait_s))
    span_s = result["duration_s"] - result["warmup_s"]
    return Outcome(span_s, flows, queue["length_mean_packets"], row.rate_mbps)


def ns2_outcome(row: Row, seed: int) -> Outcome:
    """Runs ns-2 and reads the script's JSON line."""
    printed = standard_output(["ns", str(row.script), *row.script_arguments, f"seed={seed}"])
    # ns-2's Linux agents tell of their commands on the same stream.
    result = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    flows = [Flow(**flow) for flow in result["flows"]]
    return Outcome(result["span_s"], flows, result["queue_mean_packets"], row.rate_mbps)


def standard_output(command: Sequence[str]) -> str:
    """The output of a command; its message as an error if it failed."""
    try:
        finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunFailedError(str(error)) from error
    if finished.returncode != 0:
        message = f"{' '.join(command)}\nexit status {finished.returncode}: {finished.stderr.strip()}"
        raise RunFailedError(message)
    return finished.stdout


def run_all(
    experiments: list[Experiment], simulators: list[Simulator], jobs: int, console: Console
) -> dict[tuple[str, str, Simulator], list[Outcome]]:
    """Every row with every simulator and seed, `jobs` at a time."""
    tasks = [
        (simulator, row, seed)
        for experiment in experiments
        for row in experiment.rows
        for simulator in simulators
        for seed in range(1, row.seeds(simulator) + 1)
    ]
    outcomes: dict[tuple[str, str, Simulator], list[Outcome]] = {}
    with ThreadPoolExecutor(jobs) as pool, Progress(console=console, transient=True) as progress:
        bar = progress.add_task("simulating", total=len(tasks))
        running = [(task, pool.submit(simulate, *task)) for task in tasks]
        try:
            for (simulator, row, _), future in running:
                outcomes.setdefault((row.experiment, row.name, simulator), []).append(future.result())
                progress.advance(bar)
        except RunFailedError:
            pool.shutdown(cancel_futures=True)
            raise
    return outcomes


def number(value: float) -> str:
    """Four significant digits, without an exponent for what is measured here."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 5)}f}"


def with_interval(sample: Sample | None) -> str:
    """Mean and 95 % confidence interval."""
    if sample is None or math.isnan(sample.mean):
        return "-"
    if len(sample.values) == 1:
        return number(sample.mean)
    return f"{number(sample.mean)} ±{sample.half_width:.2g}"


@dataclass(frozen=True)
class Comparison:
    """One metric of one row: recorded, live and Forebay's."""

    row: Row
    metric: Metric
    forebay: Sample
    ns2: Sample | None

    @property
    def within(self) -> bool | None:
        """Whether Forebay's mean is within the tolerance; none if the metric is not judged."""
        return is_within(self.metric, self.forebay)

    @property
    def ns2_within(self) -> bool | None:
        """Whether ns-2, run now, is within the tolerance of its own recorded value."""
        return None if self.ns2 is None else is_within(self.metric, self.ns2)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "experiment": self.row.experiment,
            "row": self.row.name,
            "metric": self.metric.name,
            "ns2_recorded": self.metric.recorded,
            "ns2_live": None if self.ns2 is None else self.ns2.mean,
            "forebay": self.forebay.mean,
            "forebay_ci95": self.forebay.half_width,
            "rule": self.metric.rule,
            "within": self.within,
        }


def is_within(metric: Metric, sample: Sample) -> bool | None:
    """Whether the mean of a sample is allowed."""
    if metric.allowed is None or math.isnan(sample.mean):
        return None
    low, high = metric.allowed
    return low <= sample.mean <= high


def compare(
    experiment: Experiment, outcomes: dict[tuple[str, str, Simulator], list[Outcome]], *, live: bool
) -> list[Comparison]:
    """All metrics of an experiment."""
    comparisons = []
    for row in experiment.rows:
        for metric in row.metrics:
            forebay = Sample([run.value(metric.name) for run in outcomes[experiment.name, row.name, "forebay"]])
            runs = outcomes.get((experiment.name, row.name, "ns-2"), []) if live else []
            ns2 = Sample([run.value(metric.name) for run in runs]) if runs else None
            comparisons.append(Comparison(row, metric, forebay, ns2))
    return comparisons


def print_table(experiment: Experiment, comparisons: list[Comparison], console: Console) -> None:
    """One experiment's table."""
    table = Table(title=experiment.title, title_justify="left")
    for column in ("row", "metric"):
        table.add_column(column, no_wrap=True)
    for column in ("ns-2 recorded", "ns-2 live", "Forebay ± 95 %", "tolerance", ""):
        table.add_column(column, justify="right", no_wrap=True)
    previous = None
    for one in comparisons:
        verdict = {True: "[green]within[/]", False: "[bold red]OUTSIDE[/]", None: ""}[one.within]
        live = with_interval(one.ns2)
        recorded = one.metric.recorded
        table.add_row(
            "" if previous is one.row else escape(one.row.name),
            one.metric.name,
            recorded if isinstance(recorded, str) else f"{recorded:g}",
            f"[red]{live}[/]" if one.ns2_within is False else live,
            with_interval(one.forebay),
            one.metric.rule,
            verdict,
        )
        previous = one.row
    console.print(table)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare Forebay with ns-2 2.35 on the same scenarios.")
    known = "table2, figure4, figure5, table3, figure8, table1, ecn, figure2, tiny, fast-access, tiny-full, buffer"
    known = f"{known}, overshoot, loss, instant, instant-web; recorded cases: {', '.join(recorded.read_recorded())}"
    parser.add_argument("experiments", nargs="*", help=f"{known}; default: all")
    parser.add_argument("--seeds", type=int, help="seeds of each row, instead of those of expected.toml")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time; default: all cores")
    parser.add_argument("--no-ns2", action="store_true", help="do not run ns-2 even where it is installed")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output instead of tables")
    return parser.parse_args()


def main() -> int:
    """Runs, compares and prints."""
    options = arguments()
    messages = Console(stderr=True)
    experiments = read_experiments(HERE / "expected.toml", options.seeds)
    cases = list(recorded.read_recorded())
    unknown = set(options.experiments) - {experiment.name for experiment in experiments} - set(cases)
    if unknown:
        messages.print(f"no such experiment: {', '.join(sorted(unknown))}")
        return 2
    if options.experiments:
        experiments = [experiment for experiment in experiments if experiment.name in options.experiments]
        cases = [case for case in cases if case in options.experiments]
    live = not options.no_ns2 and shutil.which("ns") is not None
    try:
        outcomes = run_all(experiments, ["forebay", "ns-2"] if live else ["forebay"], options.jobs, messages)
        agreements = run_recorded(cases, options.seeds or recorded.SEEDS, options.jobs, messages)
    except RunFailedError as failure:
        messages.print(str(failure), markup=False)
        return 2
    compared = {experiment.name: compare(experiment, outcomes, live=live) for experiment in experiments}
    comparisons = [one for group in compared.values() for one in group]
    outside = [one for one in comparisons if one.within is False]
    fails = bool(outside) or any(one.verdict == recorded.OUTSIDE for one in agreements)
    if options.json:
        document = {"ns2_live": live, "comparisons": [one.as_json() for one in comparisons]}
        print(json.dumps(document | {"recorded": [one.as_json() for one in agreements]}, indent=2))
        return int(fails)
    console = Console()
    if not console.is_terminal:
        console.width = 140
    for experiment in experiments:
        print_table(experiment, compared[experiment.name], console)
    if comparisons:
        summarize(comparisons, outside, console, live=live, wanted=not options.no_ns2)
    if agreements:
        recorded.print_agreements(agreements, console, number)
    return int(fails)


def run_recorded(cases: list[str], seeds: int, jobs: int, console: Console) -> list[recorded.Agreement]:
    """Runs the recorded cases and compares them."""

    def run(scenario: Path, seed: int) -> str:
        return standard_output([str(FOREBAY), "run", str(scenario), "--json", "--seed", str(seed)])

    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("recorded cases", total=len(cases) * seeds)
        return recorded.compare_recorded(cases, seeds, jobs, run, lambda: progress.advance(bar))


def summarize(
    comparisons: list[Comparison], outside: list[Comparison], console: Console, *, live: bool, wanted: bool
) -> None:
    """The judged metrics, the others with reasons, and the skipped ones."""
    judged = [one for one in comparisons if one.within is not None]
    for one in comparisons:
        if one.within is None and one.metric.why and one.metric.why != "no tolerance given":
            console.print(f"not judged: {one.row.experiment}, {one.row.name}, {one.metric.name}: {one.metric.why}")
    if not live:
        reason = "no `ns` on the path (Debian package ns2)" if wanted else "--no-ns2"
        console.print(
            f"skipped: running ns-2 itself: {reason}; Forebay is judged by the recorded values", style="yellow"
        )
    colour = "red" if outside else "green"
    console.print(f"[{colour}]{len(judged) - len(outside)} of {len(judged)} judged metrics are within tolerance[/]")


if __name__ == "__main__":
    sys.exit(main())
