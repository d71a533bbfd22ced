"""How late frames leave at 100 Mb/s with real-time priority, and with none."""

import os
import time

from tests.live.lab import Lab, end
from tests.live.outcome import Options, Outcome
from tests.live.parts.speed import cores, pinned
from tests.live.plane import Plane, Table, direction, packets
from tests.live.traffic import FLOOD_RATE_PPS

COLUMNS = (
    "wait",
    "priority",
    "frames",
    "p50, us",
    "p90, us",
    "p99, us",
    "p99.9, us",
    "longest, us",
    "over 100 us",
    "rate kept",
)
TARGET_SHARE = 0.01
# The place of 100 us in `BUCKETS_S` of `crates/live/src/snapshot.rs`.
BUCKET_OF_100_US = 6
OFFERED = 1.3


def measure(wait: str, priority: int | None, span_s: float) -> Table:
    """Statistics of the outbound direction after that time under overload."""
    table = pinned(direction("dbl"))
    if priority is not None:
        table["priority"] = priority
    with Lab() as lab, Plane(lab, table, io={"wait": wait}) as plane:
        core, _ = cores()
        rate_pps = OFFERED * FLOOD_RATE_PPS
        worker = lab.worker(
            "client", "generate", interface="c0", rate_pps=rate_pps, batch=1, frame_bytes=1514, flows=256, cpu=core
        )
        time.sleep(1)
        before, begin = plane.stats(), time.monotonic()
        time.sleep(span_s)
        after, seconds = plane.stats(), time.monotonic() - begin
        end(worker)
        bytes_sent = after["sent"]["bytes"] - before["sent"]["bytes"]
        return {**after, "rate_kept": 8 * bytes_sent / seconds / 100e6, "drops": packets(after["dropped"])}


def run(options: Options) -> Outcome:
    """Measure both ways to wait, with and without priority."""
    outcome = Outcome("lateness")
    span_s = 3.0 if options.quick else 20.0
    sheet = outcome.sheet(f"Lateness of release at 100 Mb/s, {OFFERED:g} times offered, {span_s:g} s", COLUMNS)
    outcome.notes.append(f"{os.cpu_count()} cores; load of this machine before: {os.getloadavg()[0]:.1f}")
    for wait, priority in (("ppoll", 10), ("spin", 10), ("ppoll", None), ("spin", None)):
        stats = measure(wait, priority, span_s)
        lateness = stats["lateness"]
        count = lateness["count"]
        over = 1 - lateness["buckets"][BUCKET_OF_100_US] / count if count else float("nan")
        quantiles = [f"{1e6 * lateness[key]:.1f}" for key in ("p50_s", "p90_s", "p99_s", "p999_s", "max_s")]
        sheet.add(wait, priority or "none", count, *quantiles, f"{over:.2%}", f"{stats['rate_kept']:.2%}")
        outcome.numbers[f"{wait}, {priority}"] = {**lateness, "over_100_us": over, "rate_kept": stats["rate_kept"]}
        if priority is not None:
            found = f"{over:.2%} over it: {'within' if over <= TARGET_SHARE else 'outside'} the target"
            outcome.notes.append(f"{wait} with SCHED_FIFO: 99 % under 100 us is the target; {found}")
    return outcome
