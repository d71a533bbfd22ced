"""The folder of a sweep: its contents, and a lock so that only one call at a time writes into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forebay.errors import InputError
from forebay.folder import begun, kept_in, locked, writing_to
from forebay.runs.store import version_key
from forebay.storage.document import json_text
from forebay.storage.stored import UNREADABLE, read_document, reason_of

from .plan import Plan
from .result import SWEEP_FILE

RUNS = "runs"
"""The folder of finished runs within that of a sweep."""


@contextmanager
def sweep_folder(out: Path | None, plan: Plan, command: str) -> Iterator[Path]:
    """Yield the folder for the runs of a plan, with its manifest; without a name, one that is gone at the end.

    Raises InputError if it cannot be written, is in use by another call, or holds another sweep.
    """
    with kept_in(out) as folder, locked(folder):
        _check(folder, plan)
        _write(folder, plan, command)
        yield folder


def _check(folder: Path, plan: Plan) -> None:
    path = folder / SWEEP_FILE
    try:
        there = read_document(path)
    except FileNotFoundError:
        return
    except UNREADABLE as error:
        message = f"cannot read {path}: {reason_of(error)}\nhint: name another folder, or remove this file"
        raise InputError(message) from None
    if "version" not in there:
        message = f"{folder} holds the tables of a sweep without its runs\nhint: name another folder"
        raise InputError(message)
    ours = _manifest(plan, "")
    for name, what in (
        ("version", "a sweep by another build of Forebay"),
        ("scenario_digest", "a sweep of another scenario"),
    ):
        if there.get(name) != ours[name]:
            message = f"{folder} holds {what}: {_short(there.get(name))}, and this is {_short(ours[name])}"
            raise InputError(message + "\nhint: name another folder, or remove this one")
    if there.get("keys") != ours["keys"]:
        message = f"{folder} holds a sweep of {_listed(there.get('keys'))}, and this one varies {_listed(ours['keys'])}"
        raise InputError(message + "\nhint: name another folder")


def _short(text: object) -> str:
    return str(text)[:20]


def _listed(keys: object) -> str:
    return " and ".join(map(str, keys)) if isinstance(keys, list) and keys else "nothing"


def _write(folder: Path, plan: Plan, command: str) -> None:
    with writing_to(folder), begun(folder, Path.touch) as partial:
        partial.write_text(json_text(_manifest(plan, command)) + "\n", encoding="utf-8")
        partial.replace(folder / SWEEP_FILE)


def _manifest(plan: Plan, command: str) -> dict[str, Any]:
    return {
        "version": version_key(),
        "scenario": plan.scenario.name,
        "description": plan.scenario.description,
        "scenario_digest": plan.digest(),
        "toml": plan.scenario.to_toml(),
        "command": command,
        "keys": plan.keys,
        "points": [dict(point.settings) for point in plan.points],
        "seeds": [plan.seeds[0], plan.seeds[-1]],
        "left_out": list(plan.left_out),
        "fitted": {label: dict(it) for label, it in plan.fitted.items()},
        "several_queues": plan.several_queues,
    }
