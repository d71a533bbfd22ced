"""Finds experiment files and reads them."""

from __future__ import annotations

import difflib
import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from .errors import ExperimentError
from .refusal import refused, refused_by_schema
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
    """Return the folder of experiment files: of the checkout worked in, else the one installed with the package."""
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
    """Return a sort key that reads runs of digits as numbers."""
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
    """Return the files named by `ids`: "dbl/table2", a paper ("dbl"), a pattern ("dbl/fig*"), "all", a TOML file."""
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
            message = f"there is no experiment `{wanted}`\nhint: {_nearest(wanted, list(files))}"
            raise ExperimentError(message)
        chosen.update(dict.fromkeys(matching))
    return list(chosen)


def _nearest(wanted: str, ids: list[str]) -> str:
    """Return what may have been meant: an experiment, by its id or the part behind the paper, or a paper."""
    meant: dict[str, list[str]] = {}
    for experiment_id in ids:
        paper, _, name = experiment_id.partition("/")
        for key, value in ((experiment_id, experiment_id), (paper, paper), (name, experiment_id)):
            if value not in meant.setdefault(key, []):
                meant[key].append(value)
    near = difflib.get_close_matches(wanted.lower(), meant, n=3)
    # One that is named exactly needs no others.
    near = near[:1] if wanted.lower() in near else near
    names = list(dict.fromkeys(name for key in near for name in meant[key]))[:5]
    question = f"did you mean {_or(names)}? " if names else ""
    return f"{question}`forebay list experiments` names all"


def _or(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def load_experiment(path: Path) -> Experiment:
    """Read and check one experiment file; the error shows the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        remedy = "give an experiment's TOML file, or a name of `forebay list experiments`"
        message = f"{path} cannot be read: {why}\nhint: {remedy}"
        raise ExperimentError(message) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refused(path, text, [], f"this is not TOML: {error}") from error
    try:
        experiment = Experiment.model_validate(data, context=(path, text))
    except ValidationError as error:
        items = error.errors(include_url=False)
        # A misspelt key is missing under its right name too.
        item = next((item for item in items if item["type"] == "extra_forbidden"), items[0])
        raise refused_by_schema(path, text, data, Experiment, item) from error
    expected = f"{path.parent.name}/{path.stem}"
    if path.parent.parent.name == "experiments" and experiment.id != expected:
        raise refused(path, text, ["id"], f"`id` must be `{expected}`, as the file is named", "found another")
    return experiment
