"""`forebay stability`: its options and its output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from forebay import terminal

from .result import STEM
from .run import judge_stability
from .table import terminal_tables

STABLE, UNSTABLE = 0, 1


def run_command(
    path: Path,
    *,
    queue: str | None,
    overrides: Mapping[str, str],
    seed: int | None,
    packets: bool,
    as_json: bool,
    out: Path | None,
) -> int:
    """Judge, print, and return the exit status. Raises InputError and ScenarioError."""
    out = out or Path("out") / STEM / path.stem
    with terminal.progress("packets") as bar:
        judged = judge_stability(
            path, queue=queue, overrides=overrides, seed=seed, packets=packets, out=out, progress=bar.mover
        )
    if as_json:
        terminal.write(judged.to_json())
    else:
        terminal.show(*terminal_tables(judged))
    terminal.note(f"written to {out}: {STEM}.png and .svg are the figure, .csv and .json the data")
    return STABLE if judged.stable else UNSTABLE
