"""`forebay size-buffer`: its options and its output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forebay import interrupt, terminal
from forebay.scenario import Scenario

from .result import STEM
from .run import find_size
from .table import terminal_tables
from .targets import targets_of

FOUND, NOT_FOUND = 0, 1


@dataclass(frozen=True)
class Options:
    """The options of the command line."""

    utilization: float | None
    drop_rate: float | None
    delay_p50: str | None
    delay_p95: str | None
    delay_p99: str | None
    queue: str | None
    key: str | None
    overrides: Mapping[str, str]
    seeds: int | None
    max_seeds: int | None
    least: int | None
    most: int | None
    precision: float | None
    jobs: int | None
    as_json: bool
    out: Path | None
    allow_python: bool = False


def run_command(path: Path, options: Options) -> int:
    """Search, print, and return the exit status. Raises InputError and ScenarioError."""
    out = options.out or Path("out") / STEM / path.stem
    finished = 0
    interrupt.tells(
        lambda: f"stopped after {finished} runs; they are in {out}, and the same command continues from there"
    )
    delays = {"delay_p50_s": options.delay_p50, "delay_p95_s": options.delay_p95, "delay_p99_s": options.delay_p99}
    with terminal.progress("runs") as bar:

        def progress(done: float, expected: int, size: str) -> None:
            nonlocal finished
            finished = int(done)
            # How many runs a search takes is known only roughly before its end.
            bar.move(done, expected, f"buffer {size}")

        size = find_size(
            Scenario.load(path, options.overrides, allow_python=options.allow_python),
            targets_of(options.utilization, options.drop_rate, delays),
            out,
            queue=options.queue,
            key=options.key,
            seeds=4 if options.seeds is None else options.seeds,
            max_seeds=options.max_seeds,
            least=options.least,
            most=options.most,
            precision=0.02 if options.precision is None else options.precision,
            jobs=options.jobs,
            progress=progress,
        )
    # Show expensive results, whether or not they can be saved.
    if options.as_json:
        terminal.write(size.to_json())
    else:
        terminal.show(*terminal_tables(size))
    size.save(out)
    terminal.note(f"written to {out}: {STEM}.png and .svg are the figure, .csv and .json the data")
    return NOT_FOUND if size.buffer is None else FOUND
