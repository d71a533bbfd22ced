"""The options of the command, with their names and help texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from . import completion
from .errors import InputError
from .seeds import LAST_SEED, MOST_SEEDS


def seed_number(text: str) -> int:
    """Return the seed; a range that click checks would take half of the help's width."""
    if not text.strip().isdecimal() or int(text) > LAST_SEED:
        message = f"{text} is not a seed: a whole number from 0 to {LAST_SEED}"
        raise typer.BadParameter(message)
    return int(text)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replace a value of the scenario, by the path of its key: [bold]flows.tcp.count=10[/]. Repeatable.",
        autocompletion=completion.paths,
    ),
]
# Folders are texts: the path of an empty one would be the current folder.
OutputFolder = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Save results in this folder: Parquet, JSON, traces.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", parser=seed_number, help="Seed of all random numbers. Default: the scenario's."
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        "--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Run under N seeds and print means with intervals."
    ),
]
Jobs = Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="Runs at a time. Default: one per core.")]
Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        metavar="N",
        show_default=False,
        help="At most N threads for the run; the results are the same. Default: one.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="ADDRESS", help="Run on a Dask cluster: the address of its scheduler, tcp://host:8786."
    ),
]

EveryRow = Annotated[
    bool, typer.Option("--all", help="Print every row of the tables. Without it, long tables are cut.")
]

Queues = Annotated[
    list[str] | None,
    typer.Option(
        "--queue",
        "--queues",
        metavar="all|NAME,NAME…",
        help="Disciplines to compare. One with parameters stands alone: [bold]RED=red:gentle=false,wait=true[/]. "
        "Repeatable.",
        show_default=False,
        autocompletion=completion.disciplines,
    ),
]
QueueSettings = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE.toml", help="Parameters: a TOML file with a table for each discipline."),
]

AllowPython = Annotated[
    bool,
    typer.Option(
        "--allow-python",
        help="Import and run the Python code that the scenario names. Use it only if you trust that code.",
    ),
]

# The options of size-buffer alone.
Utilization = Annotated[
    float | None,
    typer.Option("--target-utilization", metavar="SHARE", help="Least share of its time that the link sends: 0.8."),
]
DropRate = Annotated[
    float | None,
    typer.Option("--target-drop-rate", metavar="SHARE", help="Largest share of packets that are dropped: 0.001."),
]
DelayP99 = Annotated[
    str | None,
    typer.Option("--target-delay-p99", metavar="TIME", help='Largest 99th percentile of one-way delay: "50 ms".'),
]
DelayP95 = Annotated[
    str | None, typer.Option("--target-delay-p95", metavar="TIME", help="Largest 95th percentile of one-way delay.")
]
DelayP50 = Annotated[
    str | None, typer.Option("--target-delay-p50", metavar="TIME", help="Largest median of one-way delay.")
]
SizedQueue = Annotated[
    str | None, typer.Option("--queue", metavar="LINK", help="Queue to size, by its link. Default: the bottleneck's.")
]
LinuxQueue = Annotated[
    str | None,
    typer.Option(
        "--queue", metavar="LINK", help="Queue to set up, by its link. Default: the bottleneck's, or the only one."
    ),
]
Device = Annotated[str, typer.Option("--dev", metavar="NAME", help="The interface of Linux.")]
PacketBytes = Annotated[
    int,
    typer.Option(
        "--packet",
        metavar="BYTES",
        min=40,
        max=65_535,
        help="Size of a packet, where Linux counts bytes and the scenario packets, or the reverse.",
    ),
]
SizedKey = Annotated[
    str | None,
    typer.Option("--key", metavar="PATH", help="Queue to size, by the path of its limit in the scenario."),
]
SizeSeeds = Annotated[
    int | None,
    typer.Option("--seeds", metavar="N", min=2, max=MOST_SEEDS, help="Runs of each size to begin with. Default: 4."),
]
MaxSeeds = Annotated[
    int | None,
    typer.Option(
        "--max-seeds",
        metavar="N",
        max=MOST_SEEDS,
        help="The most runs of an undecided size. Default: 4 times --seeds.",
    ),
]
Least = Annotated[
    int | None,
    typer.Option(
        "--min", metavar="N", min=1, help="Smallest size to try, in the unit of the limit. Default: one packet."
    ),
]
Most = Annotated[
    int | None,
    typer.Option("--max", metavar="N", min=1, help="Largest size to try. Default: 4 RTT·C, but at least 1024 packets."),
]
Precision = Annotated[
    float | None,
    typer.Option(
        "--precision", metavar="SHARE", help="Relative difference below which two sizes count as equal. Default: 0.02."
    ),
]
SizeFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Folder for table and figure. Default: out/size-buffer/<scenario>."),
]

# The options of compare alone.
Compared = Annotated[
    list[Path],
    typer.Argument(
        metavar="SCENARIO.toml|DIR…",
        help="A scenario file; folders that [bold]forebay run --out[/] wrote; those of two sweeps; or that of a "
        "finished comparison, to show it again.",
        show_default=False,
    ),
]
ComparedQueue = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="PATH",
        help="Queue to replace, by the path of its key; of finished runs, its name. Default: the bottleneck's.",
    ),
]
ComparedSeeds = Annotated[
    int | None,
    typer.Option("--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Runs of each discipline. Default: 3."),
]
ComparedFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Folder for page, tables and figure. Default: out/compare/<scenario>."),
]

# The options of report alone.
Reported = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR…", help="Folders that run, replay, sweep, compare or reproduce wrote.", show_default=False
    ),
]
ReportFile = Annotated[
    str | None,
    typer.Option("--out", metavar="FILE.html", help="The page to write. Default: report.html in the first folder."),
]
ReportTitle = Annotated[
    str | None,
    typer.Option("--title", metavar="TEXT", help="Heading of the page. Default: the names of the folders."),
]

# The options of sweep alone.
Varied = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY.PATH=VALUES",
        help="Values [bold]a,b,c[/]; or a range [bold]lin:10 Mbps:100 Mbps:4[/] or [bold]log:1:1000:7[/]; "
        "with --samples, [bold]uniform:0:1[/] or [bold]loguniform:1 ms:1 s[/]. Repeatable.",
        show_default=False,
        autocompletion=completion.paths,
    ),
]
InStep = Annotated[bool, typer.Option("--in-step", help="Change all keys together, in place of a grid.")]
Samples = Annotated[
    int | None, typer.Option("--samples", metavar="N", min=1, help="Draw N points, in place of a grid.")
]
Sampling = Annotated[
    str,
    typer.Option("--sampling", metavar="latin|random", help="Draw a Latin hypercube, or independent points."),
]
SweptQueue = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="PATH", help="Queue that --queues replaces, by the path of its key. Default: the bottleneck's."
    ),
]
PointSeeds = Annotated[
    int,
    typer.Option(
        "--seeds",
        metavar="N",
        min=1,
        max=MOST_SEEDS,
        help="Runs of each point; with --until, the number to begin with.",
    ),
]
UntilRule = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="RULE",
        help="Add seeds until half the 95 % interval of a metric is narrower: [bold]goodput < 2 %[/].",
        autocompletion=completion.metrics,
    ),
]
PointMaxSeeds = Annotated[
    int, typer.Option("--max-seeds", metavar="N", min=1, max=MOST_SEEDS, help="The most runs of a point.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Run again what failed before, in place of keeping its error.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Estimate the number of runs, their time and their size; keep nothing.")
]
SweepFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Folder for tables and runs. Default: out/sweep/<scenario>."),
]
PortRate = Annotated[str, typer.Option("--rate", metavar="RATE", help="Rate of the port: [bold]20Mbps[/].")]
ReplayQueues = Annotated[
    list[str],
    typer.Option(
        "--queue",
        "--queues",
        metavar="NAME,NAME…|all",
        help="Disciplines, side by side, each in front of its own port. One with parameters stands alone: "
        "[bold]RED=red:gentle=false,wait=true[/]. Repeatable.",
    ),
]
ReplaySettings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter of every queue that has it. Repeatable."),
]
Destination = Annotated[
    str | None, typer.Option("--to", metavar="ADDRESS", help="Replay only packets to this address.")
]
# The parser takes text, and would be given a default that is a number.
ReplaySeed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", parser=seed_number, help="Seed of the disciplines' random numbers. Default: 1."
    ),
]
Interval = Annotated[
    str | None,
    typer.Option(
        "--interval", metavar="TIME", help="Interval of the time series. Default: one that suits the capture."
    ),
]
ReplayFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Save tables and time series in this folder: Parquet, JSON."),
]
CaptureOut = Annotated[
    Path | None,
    typer.Option("--capture-out", metavar="FILE", help="Write the packets that pass as pcapng, one file per queue."),
]
DropsOut = Annotated[
    Path | None,
    typer.Option("--drops-out", metavar="FILE", help="Write the dropped packets as pcapng, with the reasons."),
]


def pairs(overrides: list[str] | None) -> Mapping[str, str]:
    """Return the value of `--set key=value`. Raises InputError for one without a value."""
    pairs: dict[str, str] = {}
    for text in overrides or ():
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            message = f"--set {text}: the value is missing\nhint: write --set key.path=value"
            raise InputError(message)
        # A later value of the same key wins, and comes last.
        pairs.pop(path.strip(), None)
        pairs[path.strip()] = value.strip()
    return pairs
