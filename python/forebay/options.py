"""The options of the command: what each is called, and what its help says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import completion
from .seeds import LAST_SEED, MOST_SEEDS

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replace a value; elements of lists by their name: [bold]flows.tcp.count=10[/]. Repeatable.",
        autocompletion=completion.paths,
    ),
]
# Folders are texts: the path of an empty one would be the current folder.
OutputFolder = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Save results there: Parquet, JSON, traces.")
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, max=LAST_SEED, help="Seed of all dice, instead of the scenario's."),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Runs at a time. Default: one on each core.")
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler: tcp://host:8786."),
]

Queues = Annotated[
    list[str] | None,
    typer.Option(
        "--queue",
        "--queues",
        metavar="all|NAME,NAME…",
        help="Disciplines to compare. With parameters one at a time: [bold]RED=red:gentle=false,wait=true[/]. "
        "Repeatable.",
        show_default=False,
        autocompletion=completion.disciplines,
    ),
]
QueueSettings = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE.toml", help="Parameters, in a table for each discipline."),
]

AllowPython = Annotated[
    bool,
    typer.Option(
        "--allow-python", help="Import and run the Python code that the scenario names: only if you trust it."
    ),
]

# The options of size-buffer alone.
Utilization = Annotated[
    float | None,
    typer.Option("--target-utilization", metavar="SHARE", help="The least share of its time that the link sends: 0.8."),
]
DropRate = Annotated[
    float | None, typer.Option("--target-drop-rate", metavar="SHARE", help="The most packets that are dropped: 0.001.")
]
DelayP99 = Annotated[
    str | None,
    typer.Option("--target-delay-p99", metavar="TIME", help='The most that 99 % of one-way delays may be: "50 ms".'),
]
DelayP95 = Annotated[str | None, typer.Option("--target-delay-p95", metavar="TIME", help="The same of 95 %.")]
DelayP50 = Annotated[str | None, typer.Option("--target-delay-p50", metavar="TIME", help="The same of half of them.")]
SizedQueue = Annotated[
    str | None, typer.Option("--queue", metavar="LINK", help="The queue that is sized. Default: the bottleneck's.")
]
SizedKey = Annotated[
    str | None,
    typer.Option("--key", metavar="PATH", help="The queue that is sized, by the path of its limit in the scenario."),
]
SizeSeeds = Annotated[
    int | None,
    typer.Option("--seeds", metavar="N", min=2, max=MOST_SEEDS, help="Seeds of each size at first. Default: 4."),
]
MaxSeeds = Annotated[
    int | None,
    typer.Option(
        "--max-seeds",
        metavar="N",
        max=MOST_SEEDS,
        help="Seeds of a size that stays undecided. Default: 4 times --seeds.",
    ),
]
Least = Annotated[
    int | None,
    typer.Option("--min", metavar="N", min=1, help="The smallest size, in the unit of the limit. Default: a packet."),
]
Most = Annotated[
    int | None,
    typer.Option("--max", metavar="N", min=1, help="The largest size. Default: 4 RTT C, at least 1024 packets."),
]
Precision = Annotated[
    float | None,
    typer.Option("--precision", metavar="SHARE", help="Sizes nearer than this are not told apart. Default: 0.02."),
]
SizeFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Where table and figure go. Default: out/size-buffer/<scenario>."),
]

# The options of sweep alone.
Varied = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY.PATH=VALUES",
        help="Values: [bold]a,b,c[/] or [bold]lin:10 Mbps:100 Mbps:4[/] or [bold]log:1:1000:7[/]; for samples "
        "[bold]uniform:0:1[/] or [bold]loguniform:1 ms:1 s[/]. Repeatable.",
        show_default=False,
        autocompletion=completion.paths,
    ),
]
InStep = Annotated[
    bool, typer.Option("--in-step", help="All keys change together, in place of each value with each other.")
]
Samples = Annotated[
    int | None, typer.Option("--samples", metavar="N", min=1, help="Draw N points, in place of a grid.")
]
Sampling = Annotated[
    str,
    typer.Option("--sampling", metavar="latin|random", help="How they are drawn: as a Latin hypercube, or not."),
]
SweptQueue = Annotated[
    str | None,
    typer.Option("--at", metavar="PATH", help="The queue that --queues replaces, as a key. Default: the bottleneck's."),
]
PointSeeds = Annotated[
    int,
    typer.Option("--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Runs of each point; with --until at first."),
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
    bool, typer.Option("--dry-run", help="Say how many runs it would be, how long and how large, and run nothing.")
]
SweepFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Where tables and runs go. Default: out/sweep/<scenario>."),
]
