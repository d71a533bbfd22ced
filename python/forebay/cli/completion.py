"""Completions for the shell: names, metrics, and paths of keys with their values."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from forebay import _core, runs

from . import catalogue
from .catalogue import Kind


def disciplines(incomplete: str) -> list[str]:
    """Disciplines, also behind a comma."""
    before, comma, last = incomplete.rpartition(",")
    names = [*(entry["name"] for entry in catalogue.entries(Kind.disciplines)), "all"]
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def experiments(incomplete: str) -> list[tuple[str, str]]:
    """Experiments with their titles, papers, and `all`."""
    found = [(entry["name"], entry["summary"]) for entry in catalogue.entries(Kind.experiments)]
    papers = dict.fromkeys(name.partition("/")[0] for name, _ in found)
    every = [*((paper, f"all of {paper}") for paper in papers), ("all", "every experiment"), *found]
    return [entry for entry in every if entry[0].startswith(incomplete)]


def names(incomplete: str) -> list[tuple[str, str]]:
    """Whatever can be explained, with a line about it."""
    return [(it["name"], it["summary"]) for it in _core.choices() if it["name"].startswith(incomplete)]


def metrics(context: typer.Context, incomplete: str) -> list[str]:
    """Return the metrics of a sweep, those of the scenario's groups of flows among them."""
    groups = [flow["name"] for flow in _scenario(context).get("flows", []) if "name" in flow]
    of_group = (*runs.measures.GROUP_METRICS, *runs.measures.COMPLETION_METRICS)
    found = [
        *runs.measures.QUEUE_METRICS,
        *runs.measures.HOST_METRICS,
        *runs.measures.COMPLETION_METRICS,
        *(f"{group}.{metric}" for group in groups for metric in of_group),
    ]
    return [name for name in found if name.startswith(incomplete)]


def paths(context: typer.Context, incomplete: str) -> list[str]:
    """Yield the next part of a key's path; behind the equals sign, the values that it can have, if these have names."""
    path, equals, value = incomplete.partition("=")
    *keys, last = path.split(".")
    if equals:
        keys, last = [*keys, last], value
    place: Any = _schema()
    there: Any = _scenario(context)
    for key in keys:
        place, there = _below(place, key), _entry(there, key)
        if place is None:
            return []
    if equals:
        return [f"{path}={name}" for name in dict.fromkeys(_values(place)) if name.startswith(last)]
    before = "".join(f"{key}." for key in keys)
    return [f"{before}{key}{_end(place, key)}" for key in _keys(place, there) if key.startswith(last)]


@cache
def _schema() -> Any:
    return json.loads(_core.json_schema())


def _scenario(context: typer.Context) -> Any:
    """Return the scenario that the command names; empty where there is none that can be read."""
    # An argument before an option that is not complete yet has not been assigned.
    for path in (context.params.get("scenario"), *context.args):
        try:
            return tomllib.loads(Path(str(path)).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    return {}


def _shapes(place: Any) -> Iterator[Any]:
    """Yield what a part of the schema may be, with references and alternatives resolved."""
    if not isinstance(place, dict):
        return
    if "$ref" in place:
        yield from _shapes(_schema()["$defs"][place["$ref"].rpartition("/")[2]])
    for way in ("anyOf", "oneOf", "allOf"):
        for part in place.get(way, ()):
            yield from _shapes(part)
    yield place


def _below(place: Any, key: str) -> Any:
    for shape in _shapes(place):
        if shape.get("type") == "array":
            return shape["items"]
        if key in shape.get("properties", {}):
            return shape["properties"][key]
    return None


def _entry(there: Any, key: str) -> Any:
    """Return the value of a key in the scenario; of a list, the element of that name or number."""
    if isinstance(there, dict):
        return there.get(key)
    if isinstance(there, list):
        named = {str(index): entry for index, entry in enumerate(there)}
        named |= {entry["name"]: entry for entry in there if isinstance(entry, dict) and "name" in entry}
        return named.get(key)
    return None


def _keys(place: Any, there: Any) -> list[str]:
    """Return the keys of a table, those that the scenario has first; the names of a list's elements."""
    known = [key for shape in _shapes(place) for key in shape.get("properties", {})]
    if any(shape.get("type") == "array" for shape in _shapes(place)):
        elements = there if isinstance(there, list) else []
        return [str(entry.get("name", index)) for index, entry in enumerate(elements) if isinstance(entry, dict)]
    present = list(there) if isinstance(there, dict) else []
    return list(dict.fromkeys([*(key for key in present if key in known), *known]))


def _end(place: Any, key: str) -> str:
    """Return a dot where the path continues, an equals sign where it ends."""
    below = _below(place, key)
    continues = any("properties" in shape or shape.get("type") == "array" for shape in _shapes(below))
    return "." if continues else "="


def _values(place: Any) -> Iterator[str]:
    for shape in _shapes(place):
        yield from (str(value) for value in shape.get("enum", ()) if value is not None)
        if "const" in shape:
            yield str(shape["const"])
        if shape.get("type") == "boolean":
            yield from ("true", "false")
