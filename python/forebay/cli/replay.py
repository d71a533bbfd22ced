"""`forebay replay`: a capture through queues."""

from pathlib import Path
from typing import Annotated

import typer

from forebay import captures

from . import interrupt, terminal
from .options import AsJson, folder_of, pairs, seed_number

Rate = Annotated[str, typer.Option("--rate", metavar="RATE", help="Rate of the port: [bold]20Mbps[/].")]
Queues = Annotated[
    list[str],
    typer.Option(
        "--queue",
        "--queues",
        metavar="NAME,NAME…|all",
        help="Disciplines, side by side, each in front of its own port. One with parameters stands alone: "
        "[bold]RED=red:gentle=false,wait=true[/]. Repeatable.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter of every queue that has it. Repeatable."),
]
Destination = Annotated[
    str | None, typer.Option("--to", metavar="ADDRESS", help="Replay only packets to this address.")
]
Seed = Annotated[
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
OutputFolder = Annotated[
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


def replay(  # noqa: PLR0913 - typer makes an option of each
    capture: Annotated[
        Path, typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file or a record, maybe gzipped.")
    ],
    *,
    rate: Rate,
    queues: Queues,
    settings: Settings = None,
    destination: Destination = None,
    seed: Seed = None,
    interval: Interval = None,
    as_json: AsJson = False,
    out: OutputFolder = None,
    capture_out: CaptureOut = None,
    drops_out: DropsOut = None,
) -> None:
    """Replay the packets of a capture through queues and print the results of each flow."""
    interrupt.tells(lambda: "stopped before the end of the replay; nothing was written")
    folder = folder_of(out)
    with terminal.progress(capture.name) as bar:
        result = captures.run.replay(
            capture,
            rate=rate,
            queue=queues,
            settings=pairs(settings),
            destination=destination,
            seed=1 if seed is None else seed,
            interval=interval,
            out=folder,
            capture_out=capture_out,
            drops_out=drops_out,
            progress=bar.mover,
        )
    terminal.show_result(result, lambda width: captures.table.terminal_tables(result.to_dict(), width), as_json=as_json)
    if folder is not None:
        terminal.note(f"written to {folder}; `forebay plot {folder}` draws its figures")
