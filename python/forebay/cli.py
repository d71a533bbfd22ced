"""The command `forebay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from . import _core, catalogue, completion, interrupt, terminal
from .catalogue import Kind
from .document import document_of, json_parts
from .errors import InputError
from .folder import RESULT_FILE, NotWrittenError, named
from .live.command import app as live
from .options import (
    AllowPython,
    AsJson,
    CaptureOut,
    Compared,
    ComparedFolder,
    ComparedQueue,
    ComparedSeeds,
    Dask,
    DelayP50,
    DelayP95,
    DelayP99,
    Destination,
    Device,
    DropRate,
    DropsOut,
    DryRun,
    EveryRow,
    InStep,
    Interval,
    Jobs,
    Least,
    LinuxQueue,
    MaxSeeds,
    Most,
    OutputFolder,
    Overrides,
    PacketBytes,
    PointMaxSeeds,
    PointSeeds,
    PortRate,
    Precision,
    Queues,
    QueueSettings,
    ReplayFolder,
    ReplayQueues,
    ReplaySeed,
    ReplaySettings,
    Reported,
    ReportFile,
    ReportTitle,
    RetryFailed,
    Samples,
    Sampling,
    Seed,
    Seeds,
    SizedKey,
    SizedQueue,
    SizeFolder,
    SizeSeeds,
    SweepFolder,
    SweptQueue,
    Threads,
    UntilRule,
    Utilization,
    Varied,
    pairs,
)
from .scenario import Scenario
from .seeds import MOST_SEEDS
from .simulate import run as run_scenario
from .simulate import run_core
from .tc import PACKET_BYTES, tc_commands

DONE, BAD_INPUT, INTERNAL_ERROR = 0, 2, 3

app = typer.Typer(
    name="forebay",
    help="What will this queue do to my traffic? Simulates networks packet by packet, reproduces papers, and runs the "
    "same queue disciplines on captured packets.",
    epilog="Data go to standard output, messages to standard error. Exit status: 0 done, 1 a claim does not hold, "
    "2 bad input or a full disk, 3 an internal error, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(live, name="live")


def _version(asked: bool) -> None:
    if asked:
        terminal.write(f"forebay {_core.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options before the name of a command."""


@app.command()
def run(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.")],
    overrides: Overrides = None,
    seed: Seed = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    threads: Threads = 1,
    every_row: EveryRow = False,
    as_json: AsJson = False,
    out: OutputFolder = None,
    allow_python: AllowPython = False,
) -> None:
    """Run a scenario and print the results of its flows, queues and links."""
    folder = _folder(out)
    checked = Scenario.load(scenario, pairs(overrides), allow_python=allow_python)
    if seeds is not None:
        if threads != 1:
            message = "--seeds has one thread for each run\nhint: --jobs N says how many run at a time"
            raise InputError(message)
        from .sweeps.seeds import run_seeds

        raise typer.Exit(run_seeds(checked, seed, seeds, jobs, every_row=every_row, as_json=as_json, out=folder))
    if jobs is not None:
        message = "--jobs needs --seeds\nhint: for a single run, --threads N"
        raise InputError(message)
    older = folder is not None and (folder / RESULT_FILE).exists()
    interrupt.tells(lambda: _stopped_run(folder, older=older))
    unsaved: NotWrittenError | None = None
    with terminal.progress(checked.name) as bar:
        if folder is None:
            document = document_of(run_core(checked, seed=seed, threads=threads, progress=bar.mover, arrays=False))
        else:
            try:
                from .result import rows_document

                ran = run_scenario(checked, seed=seed, threads=threads, out=folder, progress=bar.mover)
                document = rows_document(ran)
                interrupt.tells(lambda: f"stopped after the end of the run; its results are in {folder}")
            except NotWrittenError as error:
                if error.result is None:
                    raise
                document, unsaved = rows_document(error.result), error
    if as_json:
        terminal.write_parts(json_parts(document))
    else:
        from .summary import EVERY, FEW, result_tables

        terminal.show(*result_tables(document, terminal.output().width, EVERY if every_row else FEW))
    if unsaved is not None:
        raise unsaved
    if out is not None:
        terminal.note(f"written to {out}; `forebay plot {out}` draws its figures")


def _stopped_run(folder: Path | None, *, older: bool) -> str:
    kept = f"; the older results in {folder} are unchanged" if older else ""
    return f"stopped before the end of the run; nothing was written{kept}\nhint: the same command starts again"


@app.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT…|all]",
            help="Names of experiments, from [bold]forebay list experiments[/].",
            show_default=False,
            autocompletion=completion.experiments,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Seeds of each run. Default: the experiment's number."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Take fewer seeds and shorter runs, for a first impression.")
    ] = False,
    as_json: AsJson = False,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Folder for results, tables and figures. Default: out/reproduce."),
    ] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    allow_python: AllowPython = False,
) -> None:
    """Run the experiments of papers and print published and measured values side by side.

    Without a name, list the experiments and end with exit status 2.
    """
    folder = _folder(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    from . import experiment

    if not experiments and not as_json:
        from .manual import list_table

        terminal.show(list_table(Kind.experiments))
    from .runs.workers import Where

    where = Where(jobs, dask=dask, may_start_processes=True)
    status = experiment.reproduce(
        experiments or [],
        seeds=seeds,
        quick=quick,
        out=folder,
        as_json=as_json,
        where=where,
        allow_python=allow_python,
    )
    raise typer.Exit(status)


@app.command()
def compare(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    what: Compared,
    queues: Queues = None,
    settings: QueueSettings = None,
    at: ComparedQueue = None,
    overrides: Overrides = None,
    seeds: ComparedSeeds = None,
    jobs: Jobs = None,
    dask: Dask = None,
    as_json: AsJson = False,
    out: ComparedFolder = None,
    allow_python: AllowPython = False,
) -> None:
    """Run a scenario under several queue disciplines, or take finished runs, and print them side by side."""
    folder = _folder(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    from .comparison.command import Options, run_command
    from .runs.workers import Where

    where = Where(jobs, dask=dask, may_start_processes=True)
    options = Options(queues or (), settings, at, pairs(overrides), seeds, where, as_json, folder, allow_python)
    raise typer.Exit(run_command(what, options))


@app.command()
def sweep(  # noqa: PLR0913 - typer makes an option of each
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    *,
    vary: Varied = None,
    in_step: InStep = False,
    samples: Samples = None,
    sampling: Sampling = "latin",
    queues: Queues = None,
    settings: QueueSettings = None,
    at: SweptQueue = None,
    overrides: Overrides = None,
    seeds: PointSeeds = 3,
    until: UntilRule = None,
    max_seeds: PointMaxSeeds = 100,
    jobs: Jobs = None,
    dask: Dask = None,
    retry_failed: RetryFailed = False,
    dry_run: DryRun = False,
    every_row: EveryRow = False,
    as_json: AsJson = False,
    out: SweepFolder = None,
    allow_python: AllowPython = False,
) -> None:
    """Run a scenario at many points, each under several seeds, and print means with intervals.

    The same command continues a stopped sweep and repeats no finished run. Exit status 1: some runs failed.
    """
    folder = _folder(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    from .runs.workers import Where
    from .sweeps.command import Options, run_command

    options = Options(
        vary=vary or (),
        in_step=in_step,
        samples=samples,
        sampling=sampling,
        queues=queues,
        at=at,
        settings=settings,
        overrides=pairs(overrides),
        seeds=seeds,
        until=until,
        max_seeds=max_seeds,
        where=Where(jobs, dask=dask, may_start_processes=True),
        retry_failed=retry_failed,
        dry_run=dry_run,
        every_row=every_row,
        as_json=as_json,
        out=folder,
        allow_python=allow_python,
    )
    raise typer.Exit(run_command(scenario, options))


@app.command("size-buffer")
def size_buffer(  # noqa: PLR0913 - typer makes an option of each
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    *,
    utilization: Utilization = None,
    drop_rate: DropRate = None,
    delay_p99: DelayP99 = None,
    delay_p95: DelayP95 = None,
    delay_p50: DelayP50 = None,
    queue: SizedQueue = None,
    key: SizedKey = None,
    overrides: Overrides = None,
    seeds: SizeSeeds = None,
    max_seeds: MaxSeeds = None,
    least: Least = None,
    most: Most = None,
    precision: Precision = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
    out: SizeFolder = None,
    allow_python: AllowPython = False,
) -> None:
    """Search for the smallest buffer that reaches a target, and draw it with the rules of thumb.

    With a target of utilisation or drop rate, find the smallest buffer that reaches it.

    With a target of delay alone, find the largest buffer that keeps it. Exit status 1: there is no such buffer.
    """
    folder = _folder(out)
    interrupt.tells(lambda: "stopped before the first run; nothing was written")
    from .buffer_sizing.command import Options, run_command

    options = Options(
        utilization=utilization,
        drop_rate=drop_rate,
        delay_p50=delay_p50,
        delay_p95=delay_p95,
        delay_p99=delay_p99,
        queue=queue,
        key=key,
        overrides=pairs(overrides),
        seeds=seeds,
        max_seeds=max_seeds,
        least=least,
        most=most,
        precision=precision,
        jobs=jobs,
        as_json=as_json,
        out=folder,
        allow_python=allow_python,
    )
    raise typer.Exit(run_command(scenario, options))


@app.command()
def stability(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    *,
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue", metavar="LINK", help="Queue to judge, by its link. Default: that of the most overloaded port."
        ),
    ] = None,
    overrides: Overrides = None,
    seed: Seed = None,
    packets: Annotated[
        bool, typer.Option("--packets/--no-packets", help="Also simulate the scenario, and draw it with the model.")
    ] = True,
    as_json: AsJson = False,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Folder for table and figure. Default: out/stability/<scenario>."),
    ] = None,
) -> None:
    """Judge by a fluid model whether ECM holds a queue at its set-point, and draw it with the packet simulation.

    Exit status 1: it does not.
    """
    folder = _folder(out)
    interrupt.tells(lambda: "stopped; nothing was written\nhint: the same command starts again")
    from .fluid_model.command import run_command

    status = run_command(
        scenario, queue=queue, overrides=pairs(overrides), seed=seed, packets=packets, as_json=as_json, out=folder
    )
    raise typer.Exit(status)


@app.command()
def tc(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario file.", show_default=False)],
    *,
    device: Device = "eth0",
    queue: LinuxQueue = None,
    packet: PacketBytes = PACKET_BYTES,
    overrides: Overrides = None,
) -> None:
    """Print the tc commands that give an interface of Linux the rate and the queue of a link.

    The output is a shell script. Its comments name everything that Linux does differently or does not have.
    """
    loaded = Scenario.load(scenario, pairs(overrides))
    commands = tc_commands(loaded, device=device, queue=queue, packet_bytes=packet)
    terminal.write(commands.rstrip())


@app.command("list")
def list_(
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="[KIND]", help=f"One of {', '.join(Kind)}. Default: all, by name.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List disciplines, transports, experiments or other things to choose from."""
    if as_json:
        found = {one: catalogue.entries(one) for one in Kind} if kind is None else catalogue.entries(kind)
        terminal.write(json.dumps(found, ensure_ascii=False))
        return
    from .manual import list_table, overview

    terminal.show(overview() if kind is None else list_table(kind))


@app.command()
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A discipline, scheduler, scheme, path policy, transport or topology.",
            show_default=False,
            autocompletion=completion.names,
        ),
    ],
) -> None:
    """Explain what a discipline does, its parameters with units and defaults, and its source."""
    from .manual import explanation

    terminal.show_page(explanation(name))


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    terminal.write(_core.json_schema())


@app.command()
def plot(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder that [bold]forebay run --out[/] or [bold]forebay replay --out[/] wrote.",
            show_default=False,
        ),
    ],
) -> None:
    """Draw the figures of a saved run or replay into its folder, as PNG and SVG."""
    interrupt.tells(lambda: f"stopped; no figure was written, and the results in {folder} are unchanged")
    from .captures.result import ReplayResult, is_replay
    from .result import Result

    result = ReplayResult.load(folder) if is_replay(folder) else Result.load(folder)
    for path in result.plot.save_all(folder):
        terminal.write(str(path))


@app.command()
def report(
    folders: Reported,
    out: ReportFile = None,
    title: ReportTitle = None,
) -> None:
    """Write one HTML page about finished results: tables, interactive figures, verdicts, and how to repeat them."""
    interrupt.tells(lambda: "stopped; no page was written")
    from .reporting import report as write_report

    terminal.write(str(write_report(folders, out, title=title)))


@app.command()
def replay(  # noqa: PLR0913 - typer makes an option of each
    capture: Annotated[
        Path, typer.Argument(metavar="CAPTURE", help="A pcap or pcapng file or a record, maybe gzipped.")
    ],
    *,
    rate: PortRate,
    queues: ReplayQueues,
    settings: ReplaySettings = None,
    destination: Destination = None,
    seed: ReplaySeed = None,
    interval: Interval = None,
    as_json: AsJson = False,
    out: ReplayFolder = None,
    capture_out: CaptureOut = None,
    drops_out: DropsOut = None,
) -> None:
    """Replay the packets of a capture through queues and print the results of each flow."""
    interrupt.tells(lambda: "stopped before the end of the replay; nothing was written")
    from .captures import replay as replay_capture

    folder = _folder(out)
    with terminal.progress(escape(capture.name)) as bar:
        result = replay_capture(
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
    if as_json:
        terminal.write(result.to_json())
    else:
        from .captures.table import terminal_tables

        terminal.show(*terminal_tables(result.to_dict(), terminal.output().width))
    if folder is not None:
        terminal.note(f"written to {folder}; `forebay plot {folder}` draws its figures")


def _folder(out: str | None) -> Path | None:
    return None if out is None else named(out)
