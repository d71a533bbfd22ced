"""What a direction forwards by itself: the example `drain`, started and summed up."""

import json
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tests.live.lab import ROOT, LabError
from tests.live.outcome import Outcome
from tests.live.plane import EXAMPLES

PROGRAM = EXAMPLES / "drain"
ROUND_S = 0.2
COLUMNS = ("frames", "what", "packets/CPU s, median", "lowest", "highest", "ns a frame", "packets/s, median")
METHODS = {"af_packet": "packet sockets", "af_xdp": "AF_XDP"}
KINDS = {"bare": "bare", "none": "no queue", "dbl": "DBL"}
# What is compared with what, and the ratio that is wanted, if there is one.
RATIOS: tuple[tuple[str, str, float | None], ...] = (
    ("packet sockets, DBL", "packet sockets, bare", 0.95),
    ("AF_XDP, DBL", "AF_XDP, bare", 0.95),
    ("packet sockets, DBL", "packet sockets, no queue", None),
    ("AF_XDP, DBL", "AF_XDP, no queue", None),
    ("AF_XDP, bare", "packet sockets, bare", 1.5),
    ("AF_XDP, no queue", "packet sockets, no queue", 1.5),
    ("AF_XDP, DBL", "packet sockets, DBL", 1.5),
)

Sample = dict[str, Any]
# By length of frames and name, the samples in the order of the rounds.
Samples = dict[tuple[int, str], list[Sample]]


def measure(rounds: int) -> Samples:
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
    found: Samples = defaultdict(list)
    for line in done.stdout.splitlines():
        sample = json.loads(line)
        found[sample["bytes"], f"{METHODS[sample['method']]}, {KINDS[sample['what']]}"].append(sample)
    return found


def per_cpu_second(sample: Sample) -> float:
    """Packets that it forwarded per second of the processor."""
    return float(sample["forwarded"] / sample["cpu_nanoseconds"] * 1e9)


def spread(values: Iterable[float]) -> tuple[float, float, float]:
    """Median, lowest and highest."""
    found = sorted(values)
    return statistics.median(found), found[0], found[-1]


def lengths(samples: Samples) -> Iterator[int]:
    """The lengths of frames, each once."""
    return iter(dict.fromkeys(frame_bytes for frame_bytes, _ in samples))


def rates(outcome: Outcome, samples: Samples, rounds: int) -> None:
    """How fast each is."""
    table = outcome.sheet(f"Drained from a full ring without a generator, {rounds} rounds in turns", COLUMNS)
    for (frame_bytes, name), found in samples.items():
        middle, lowest, highest = spread(map(per_cpu_second, found))
        by_clock = statistics.median(sample["forwarded"] / sample["nanoseconds"] * 1e9 for sample in found)
        cells = [f"{rate:,.0f}" for rate in (middle, lowest, highest)]
        table.add(f"{frame_bytes} B", name, *cells, f"{1e9 / middle:,.0f}", f"{by_clock:,.0f}")
        outcome.numbers[f"drained, {frame_bytes} B: {name}"] = middle


def ratios(outcome: Outcome, samples: Samples) -> None:
    """Ratios within a round, beside what is wanted."""
    columns = ("frames", "what", "to", "ratio, median", "lowest", "highest", "wanted", "holds")
    table = outcome.sheet("Ratios of packets per CPU second within a round", columns)
    for frame_bytes in lengths(samples):
        for above, below, wanted in RATIOS:
            pairs = zip(samples[frame_bytes, above], samples[frame_bytes, below], strict=True)
            middle, lowest, highest = spread(per_cpu_second(one) / per_cpu_second(other) for one, other in pairs)
            verdict = ("", "") if wanted is None else (f"{wanted:g}", "yes" if middle >= wanted else "no")
            cells = [f"{ratio:.2f}" for ratio in (middle, lowest, highest)]
            table.add(f"{frame_bytes} B", above, below, *cells, *verdict)
            outcome.numbers[f"drained, {frame_bytes} B: {above} / {below}"] = middle


def filling(outcome: Outcome, samples: Samples) -> None:
    """What the way into the ring costs, which the drain does not contain."""
    for frame_bytes in lengths(samples):
        costs = []
        for method in METHODS.values():
            found = [
                sample
                for (length, name), all_of in samples.items()
                for sample in all_of
                if length == frame_bytes and name.startswith(method)
            ]
            cost = statistics.median(sample["fill_cpu_nanoseconds"] / sample["filled"] for sample in found)
            costs.append(f"{cost:,.0f} ns with {method}")
        outcome.notes.append(f"{frame_bytes} B: to send a frame and to bring it into the ring took {', '.join(costs)}")


def run(outcome: Outcome, rounds: int) -> None:
    """Measure, and add what was found."""
    if not PROGRAM.exists():
        outcome.notes.append("nothing was drained: the example `drain` is not built")
        return
    samples = measure(rounds)
    rates(outcome, samples, rounds)
    ratios(outcome, samples)
    filling(outcome, samples)
    every = [sample for found in samples.values() for sample in found]
    filled, forwarded, arrived = (sum(sample[key] for sample in every) for key in ("filled", "forwarded", "arrived"))
    outcome.claim(
        "what was in a ring was forwarded and came out, every frame of it",
        filled == forwarded == arrived,
        f"{filled} sent, {forwarded} forwarded, {arrived} arrived",
    )
