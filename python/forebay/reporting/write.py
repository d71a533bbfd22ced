"""Writing a report."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from forebay.errors import InputError
from forebay.folder import begun, named, writing_to

from .folders import labels, sections_of
from .page import html_of

REPORT_FILE = "report.html"


def report(
    folders: str | PathLike[str] | Sequence[str | PathLike[str]],
    out: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
) -> Path:
    """Write one HTML page about finished results. It needs no other file and no network.

    Args:
        folders: One folder or several, each with results that `run`, `replay`, `sweep`, `compare` or `forebay
            reproduce` wrote.
        out: The file. Default: `report.html` in the first folder.
        title: The heading of the page. Default: the names of the folders.

    Returns:
        The path of the file.

    Raises:
        InputError: If a folder holds nothing known or cannot be read, or the file cannot be written.

    Example:
        >>> short = {"duration": "2 s", "warmup": "1 s"}
        >>> result = fb.run("examples/first.toml", overrides=short, out="out/run")
        >>> fb.report("out/run", title="A flood beside TCP").name
        'report.html'

    """
    given = [folders] if isinstance(folders, str | PathLike) else list(folders)
    if not given:
        message = "there is nothing to report on\nhint: name a folder that `forebay run --out` wrote"
        raise InputError(message)
    paths = [named(folder) for folder in given]
    target = paths[0] / REPORT_FILE if out is None else Path(out)
    if target.is_dir() or not fspath(target.name):
        message = f"{target} is a folder\nhint: name a file: {target / REPORT_FILE}"
        raise InputError(message)
    sections = sections_of(paths)
    heading = sections[0].heading if len(sections) == 1 else ", ".join(labels(paths).values())
    _write(target, html_of(title or heading, sections))
    return target


def _write(target: Path, page: str) -> None:
    folder = target.parent
    if not folder.is_dir():
        message = f"{folder}: there is no such folder for {target.name}\nhint: make it first, or name another file"
        raise InputError(message)
    with writing_to(folder), begun(folder, Path.touch) as partial:
        partial.write_text(page, encoding="utf-8")
        partial.replace(target)
