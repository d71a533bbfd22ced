"""The speed of a direction alone: the example `drain`, started and summed up."""

import json
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

from tests.live.lab import ROOT, LabError
from tests.live.outcome import Outcome
from tests.live.plane import EXAMPLES

PROGRAM = EXAMPLES / "drain"
ROUND_S = 0.4
COLUMNS = (
    "far end",
    "frames",
    "configuration",
    "packets/CPU s, median",
    "lowest",
    "highest",
    "ns a frame",
    "packets/s, median",
)
METHODS = {"messages": "packet sockets without a ring", "af_packet": "packet sockets", "af_xdp": "AF_XDP"}
KINDS = {"bare": "bare", "none": "no queue", "dbl": "DBL"}
FAR_ENDS = {"same_core": "same core", "other_core": "other core"}
# The two configurations, the goal of their ratio, and its name in a table.
GOALS: tuple[tuple[str, str, float, str], ...] = (
    ("packet sockets, DBL", "packet sockets, bare", 0.95, "DBL / bare, packet sockets"),
    ("AF_XDP, DBL", "AF_XDP, bare", 0.95, "DBL / bare, AF_XDP"),
    ("AF_XDP, bare", "packet sockets without a ring, bare", 1.5, "AF_XDP / packet sockets without a ring"),
    ("AF_XDP, bare", "packet sockets, bare", 1.5, "AF_XDP / packet sockets"),
)
RATIOS: tuple[tuple[str, str, float | None], ...] = (
    *(goal[:3] for goal in GOALS),
    ("packet sockets, DBL", "packet sockets, no queue", None),
    ("AF_XDP, DBL", "AF_XDP, no queue", None),
    ("AF_XDP, no queue", "packet sockets, no queue", 1.5),
    ("AF_XDP, DBL", "packet sockets, DBL", 1.5),
    ("packet sockets, bare", "packet sockets without a ring, bare", None),
)

Sample = dict[str, Any]


class Setting(NamedTuple):
    """Where the far end receives, and how long frames are."""

    far_end: str
    frame_bytes: int

    def __str__(self) -> str:
        return f"{self.frame_bytes} B, far end on the {self.far_end}"


# Of each setting, by what was measured, the samples by round.
Samples = dict[Setting, dict[str, dict[int, Sample]]]


def measure(rounds: int) -> list[Sample]:
    """Run the example."""
    # Before what else this machine does, as the other measurements are.
    command = ["nice", "-n", "-10", str(PROGRAM), str(rounds)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=60 + rounds * ROUND_S * 10, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"the example `drain` does not end: {error}") from error
    if done.returncode != 0:
        raise LabError(f"status {done.returncode} of the example `drain`: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_whole(sample: Sample) -> bool:
    """Whether all frames came out, not all of them in the warm-up, as happens when the far end blocks the port then."""
    return bool(sample["filled"] == sample["forwarded"] == sample["arrived"] and sample["timed"] > 0)


def sorted_out(samples: Iterable[Sample]) -> Samples:
    """Sort samples, without those of which the far end has lost frames: to lose a frame takes another time."""
    found: Samples = defaultdict(
        lambda: {f"{method}, {kind}": {} for method, kind in product(METHODS.values(), KINDS.values())}
    )
    for sample in samples:
        if is_whole(sample):
            setting = Setting(FAR_ENDS[sample["far_end"]], sample["bytes"])
            name = f"{METHODS[sample['method']]}, {KINDS[sample['what']]}"
            found[setting][name][sample["round"]] = sample
    return found


def per_cpu_second(sample: Sample) -> float:
    """Packets that it forwarded per second of the processor."""
    return float(sample["timed"] / sample["cpu_nanoseconds"] * 1e9)


def spread(values: Iterable[float]) -> tuple[float, float, float]:
    """Median, lowest and highest."""
    found = sorted(values)
    return statistics.median(found), found[0], found[-1]


def rates(outcome: Outcome, samples: Samples, rounds: int) -> None:
    """How fast each is."""
    table = outcome.sheet(f"Drained from a full ring without a generator, {rounds} rounds in turns", COLUMNS)
    for setting, kinds in samples.items():
        for name, by_round in kinds.items():
            found = by_round.values()
            if not found:
                continue
            middle, lowest, highest = spread(map(per_cpu_second, found))
            by_clock = statistics.median(sample["timed"] / sample["nanoseconds"] * 1e9 for sample in found)
            cells = [f"{rate:,.0f}" for rate in (middle, lowest, highest)]
            where = (setting.far_end, f"{setting.frame_bytes} B")
            table.add(*where, name, *cells, f"{1e9 / middle:,.0f}", f"{by_clock:,.0f}")
            outcome.numbers[f"drained, {setting}: {name}"] = middle


def paired(kinds: dict[str, dict[int, Sample]], above: str, below: str) -> list[float]:
    """The ratio of two in each round that has both."""
    both = kinds[above].keys() & kinds[below].keys()
    return [per_cpu_second(kinds[above][number]) / per_cpu_second(kinds[below][number]) for number in both]


def goals(outcome: Outcome, samples: Samples) -> None:
    """The ratios for which there is a goal, side by side."""
    columns = (f"{name}, at least {wanted:g}" for _, _, wanted, name in GOALS)
    table = outcome.sheet("Medians of the ratios", ("far end", "frames", *columns))
    for setting, kinds in samples.items():
        found = [(paired(kinds, above, below), wanted) for above, below, wanted, _ in GOALS]
        medians = [(statistics.median(values), wanted) for values, wanted in found if values]
        if len(medians) == len(GOALS):
            cells = (f"{middle:.3f}" if middle >= wanted else f"{middle:.3f} (missed)" for middle, wanted in medians)
            table.add(setting.far_end, f"{setting.frame_bytes} B", *cells)


def ratios(outcome: Outcome, samples: Samples) -> None:
    """All ratios within a round, with their goals."""
    columns = (
        "far end",
        "frames",
        "configuration",
        "compared with",
        "ratio, median",
        "lowest",
        "highest",
        "goal",
        "holds",
    )
    table = outcome.sheet("Ratios of packets per CPU second within a round", columns)
    for setting, kinds in samples.items():
        for above, below, wanted in RATIOS:
            values = paired(kinds, above, below)
            if not values:
                continue
            middle, lowest, highest = spread(values)
            verdict = ("", "") if wanted is None else (f"{wanted:g}", "yes" if middle >= wanted else "no")
            cells = [f"{ratio:.3f}" for ratio in (middle, lowest, highest)]
            table.add(setting.far_end, f"{setting.frame_bytes} B", above, below, *cells, *verdict)
            outcome.numbers[f"drained, {setting}: {above} / {below}"] = middle


def filling(outcome: Outcome, samples: list[Sample]) -> None:
    """The cost of the way into the ring, which the drain does not include."""
    for frame_bytes in dict.fromkeys(sample["bytes"] for sample in samples):
        costs = []
        for method, name in METHODS.items():
            found = (sample for sample in samples if (sample["bytes"], sample["method"]) == (frame_bytes, method))
            cost = statistics.median(sample["fill_cpu_nanoseconds"] / sample["filled"] for sample in found)
            costs.append(f"{cost:,.0f} ns with {name}")
        outcome.notes.append(f"{frame_bytes} B: sending a frame and bringing it into the ring took {', '.join(costs)}")


def run(outcome: Outcome, rounds: int) -> None:
    """Measure, and add what was found."""
    if not PROGRAM.exists():
        outcome.notes.append("nothing was drained: the example `drain` is not built")
        return
    every = measure(rounds)
    samples = sorted_out(every)
    goals(outcome, samples)
    rates(outcome, samples, rounds)
    ratios(outcome, samples)
    filling(outcome, every)
    near = [sample for sample in every if sample["far_end"] == "same_core"]
    filled, forwarded, arrived = (sum(sample[key] for sample in near) for key in ("filled", "forwarded", "arrived"))
    outcome.claim(
        "every frame in a ring was forwarded and arrived, with the far end on the same core",
        filled == forwarded == arrived,
        f"{filled} sent, {forwarded} forwarded, {arrived} arrived",
    )
    lost = sum(not is_whole(sample) for sample in every)
    outcome.notes.append(
        f"of {len(every)} measurements {lost} are left out: the far end's thread on the other core began too late, and "
        "the veth pair, which has room for 256 frames, dropped some"
    )
