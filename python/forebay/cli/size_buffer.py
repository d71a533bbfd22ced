"""`forebay size-buffer`: the smallest buffer that reaches a target."""

from pathlib import Path
from typing import Annotated

import typer

import forebay
from forebay import buffer_sizing
from forebay.runs.seeds import MOST_SEEDS

from . import interrupt, terminal
from .options import AllowPython, AsJson, Jobs, Overrides, ScenarioFile, folder_of, pairs

NOT_FOUND = 1


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
    str | None,
    typer.Option("--queue", metavar="LINK", help="Queue to size, by its link. Default: the bottleneck's."),
]
SizedKey = Annotated[
    str | None,
    typer.Option("--key", metavar="PATH", help="Queue to size, by the path of its limit in the scenario."),
]
Seeds = Annotated[
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
        "--precision",
        metavar="SHARE",
        help="Relative difference below which two sizes count as equal. Default: 0.02.",
    ),
]
OutputFolder = Annotated[
    str | None,
    typer.Option("--out", metavar="DIR", help="Folder for table and figure. Default: out/size-buffer/<scenario>."),
]


def size_buffer(  # noqa: PLR0913 - typer makes an option of each
    scenario: ScenarioFile,
    *,
    utilization: Utilization = None,
    drop_rate: DropRate = None,
    delay_p99: DelayP99 = None,
    delay_p95: DelayP95 = None,
    delay_p50: DelayP50 = None,
    queue: SizedQueue = None,
    key: SizedKey = None,
    overrides: Overrides = None,
    seeds: Seeds = None,
    max_seeds: MaxSeeds = None,
    least: Least = None,
    most: Most = None,
    precision: Precision = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    out: OutputFolder = None,
    allow_python: AllowPython = False,
) -> None:
    """Search for the smallest buffer that reaches a target, and draw it with the rules of thumb.

    With a target of utilisation or drop rate, find the smallest buffer that reaches it.

    With a target of delay alone, find the largest buffer that keeps it. Exit status 1: there is no such buffer.
    """
    folder = folder_of(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    changes = pairs(overrides)
    stem = buffer_sizing.result.STEM
    target = folder or Path("out") / stem / scenario.stem
    finished = 0
    interrupt.tells(
        lambda: f"stopped after {finished} runs; they are in {target}, and the same command continues from there"
    )
    delays = {"delay_p50_s": delay_p50, "delay_p95_s": delay_p95, "delay_p99_s": delay_p99}
    with terminal.progress("runs") as bar:

        def progress(done: float, expected: int, size: str) -> None:
            nonlocal finished
            finished = int(done)
            # How many runs a search takes is known only roughly before its end.
            bar.move(done, expected, f"buffer {size}")

        size = buffer_sizing.run.find_size(
            forebay.Scenario.load(scenario, changes, allow_python=allow_python),
            buffer_sizing.targets.targets_of(utilization, drop_rate, delays),
            target,
            queue=queue,
            key=key,
            seeds=4 if seeds is None else seeds,
            max_seeds=max_seeds,
            least=least,
            most=most,
            precision=0.02 if precision is None else precision,
            jobs=jobs,
            progress=progress,
        )
    # Show expensive results, whether or not they can be saved.
    terminal.show_result(size, lambda _width: buffer_sizing.table.terminal_tables(size), as_json=as_json)
    size.save(target)
    terminal.note(f"written to {target}: {stem}.png and .svg are the figure, .csv and .json the data")
    if size.buffer is None:
        raise typer.Exit(NOT_FOUND)
