"""Finds experiment files and reads them."""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from .errors import ExperimentError
from .schema import Experiment

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Listed:
    """An experiment as `forebay list experiments` shows it."""

    id: str
    title: str
    paper: str
    where: str
    claims: int
    path: Path


def experiment_folder() -> Path:
    """The folder of experiment files: of the checkout worked in, else the one installed with the package."""
    candidates = (
        Path.cwd() / "experiments",
        Path(__file__).parents[1] / "experiments",
    )
    for folder in candidates:
        if any(folder.glob("*/*.toml")):
            return folder
    message = (
        f"there is no folder of experiments: not {', nor '.join(map(str, candidates))}\n"
        "hint: run the command in a checkout of Forebay, or give the path of an experiment's TOML file"
    )
    raise ExperimentError(message)


def experiment_files(folder: Path | None = None) -> dict[str, Path]:
    """Id -> file of every experiment, in the order of the ids, where "fig10" stands after "fig9"."""
    found = {f"{path.parent.name}/{path.stem}": path for path in (folder or experiment_folder()).glob("*/*.toml")}
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key that reads runs of digits as numbers."""
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for char in text + "\0":
        if char.isdecimal():
            digits += char
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, char))
    return parts


def list_experiments(folder: Path | None = None) -> list[Listed]:
    """Every experiment with its title, for `forebay list experiments`."""
    listed = []
    for experiment_id, path in experiment_files(folder).items():
        experiment = load_experiment(path)
        listed.append(
            Listed(experiment_id, experiment.title, experiment.paper, experiment.where, len(experiment.claims), path)
        )
    return listed


def select_experiments(ids: Iterable[str]) -> list[Path]:
    """The files that `ids` name: "dbl/table2", a paper ("dbl"), a pattern ("dbl/fig*"), "all", or a TOML file."""
    chosen: dict[Path, None] = {}
    for wanted in ids:
        if wanted.endswith(".toml"):
            chosen[Path(wanted)] = None
            continue
        files = experiment_files()
        matching = [
            path
            for experiment_id, path in files.items()
            if wanted == "all" or wanted == experiment_id.split("/")[0] or fnmatch.fnmatchcase(experiment_id, wanted)
        ]
        if not matching:
            message = f"there is no experiment `{wanted}`\nhint: there are {', '.join(files)}, and `all`"
            raise ExperimentError(message)
        chosen.update(dict.fromkeys(matching))
    return list(chosen)


def load_experiment(path: Path) -> Experiment:
    """Reads and checks one experiment file; the error names the file and the key."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: cannot be read: {error}"
        raise ExperimentError(message) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: is no TOML: {error}"
        raise ExperimentError(message) from error
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as error:
        raise ExperimentError(_render(path, error)) from error
    expected = f"{path.parent.name}/{path.stem}"
    if path.parent.parent.name == "experiments" and experiment.id != expected:
        message = f"{path}: id: must be `{expected}`, as the file is named, and is `{experiment.id}`"
        raise ExperimentError(message)
    return experiment


def _render(path: Path, error: ValidationError) -> str:
    lines = []
    for item in error.errors(include_url=False):
        # The tag of a metric's kind stands in the location like a key; it is none.
        key = ".".join(str(part) for part in item["loc"]) or "(the file)"
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "there is no such key here"
        elif item["type"] == "missing":
            message = "is required"
        lines.append(f"{path}: {key}: {message}")
    return "\n".join(lines)
