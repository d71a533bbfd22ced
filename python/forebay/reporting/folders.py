"""From folders to the sections of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forebay.captures.result import ReplayResult, is_replay
from forebay.comparison.finished import is_run
from forebay.comparison.result import Comparison, is_comparison
from forebay.errors import InputError
from forebay.result import Result
from forebay.sweeps.result import Sweep, is_sweep

from .claims import CLAIMS_FILE, claims_section
from .comparisons import comparison_section
from .parts import Section
from .replays import replay_section
from .runs import run_section, runs_beside
from .sweeps import sweep_section


def sections_of(folders: Sequence[Path]) -> list[Section]:
    """Return a section for each folder, and one before them that compares several runs.

    Raises InputError for a folder that holds nothing known, or that cannot be read.
    """
    names = labels(folders)
    sections, runs = [], {}
    for folder, name in names.items():
        if is_replay(folder):
            sections.append(replay_section(ReplayResult.load(folder), name))
        elif is_run(folder):
            runs[name] = Result.load(folder)
            sections.append(run_section(runs[name], name, folder))
        elif is_sweep(folder):
            sections.append(sweep_section(Sweep.load(folder), name, folder))
        elif is_comparison(folder):
            sections.append(comparison_section(Comparison.load(folder), folder))
        elif (folder / CLAIMS_FILE).is_file():
            sections.append(claims_section(folder, name))
        else:
            raise InputError(_nothing_known(folder))
    return [runs_beside(runs), *sections] if len(runs) > 1 else sections


def labels(folders: Sequence[Path]) -> dict[Path, str]:
    """Return a name for each folder: its own, or its path where two have the same."""
    first: dict[Path, Path] = {}
    for folder in folders:
        first.setdefault(folder.resolve(), folder)
    distinct = list(first.values())
    names = [folder.resolve().name or str(folder.resolve()) for folder in distinct]
    return {
        folder: name if names.count(name) == 1 else str(folder) for folder, name in zip(distinct, names, strict=True)
    }


def _nothing_known(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: there is no such folder\nhint: name one that `forebay run --out` wrote"
    return (
        f"{folder} holds no run, replay, sweep, comparison or claims\n"
        "hint: name a folder that `run --out`, `replay --out`, `sweep --out`, `compare` or `reproduce` wrote"
    )
