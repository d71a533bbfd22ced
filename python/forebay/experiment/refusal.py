"""Errors in an experiment file, shown with their lines like the errors of scenarios."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from forebay import _core

from .errors import ExperimentError, ExperimentFileError
from .metrics import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails

    from .schema import Experiment

Key = str | int

# How a check over the whole file names the part that it is about, and where that part stands.
_PARTS = {
    "claim": ("claims", "id"),
    "table": ("tables", "title"),
    "figure": ("figures", "file"),
    "metric": ("metrics", ""),
    "sensitivity": ("sensitivity", "name"),
    "variant": ("variants", "name"),
}


def refused(path: Path, text: str, keys: list[Key], message: str, label: str = "here") -> ExperimentFileError:
    """Return the error that shows the place `keys` of the file's text."""
    return ExperimentFileError(_core.error_in_toml(text, str(path), keys, message, label))


def refused_at_evaluation(experiment: Experiment, error: ExperimentError) -> ExperimentError:
    """Return the error with the line of the part that it is about, or as it is where the line is not known."""
    if error.part is None or experiment.file is None:
        return error
    keys = _keys_to(error.part, experiment)
    return error if keys is None else refused(*experiment.file, keys, str(error), _name_of(keys))


def refused_by_schema(path: Path, text: str, data: Any, model: type[BaseModel], item: ErrorDetails) -> Exception:
    """Return the error for what the schema found wrong with the file's `data`."""
    keys, models, is_there = _followed(data, model, item["loc"])
    last = str(keys[-1]) if keys else ""
    above = _name_of(keys[:-1])

    def shown(message: str, label: str, hint: str | None = None, *, at: list[Key] = keys) -> Exception:
        at_key = item["type"] == "extra_forbidden"
        return ExperimentFileError(_core.error_in_toml(text, str(path), at, message, label, hint=hint, at_key=at_key))

    match item["type"]:
        case "extra_forbidden":
            allowed = list(dict.fromkeys(name for one in models for name in one.model_fields))
            hint = _did_you_mean(last, allowed) + f"keys of {above}: {', '.join(allowed)}"
            return shown(f"unknown key `{last}`", f"{above} has no such key", hint)
        case "missing":
            return shown(f"missing key `{last}`", f"{above} needs `{last}`")
        case "literal_error":
            allowed = re.findall("'([^']*)'", item["ctx"]["expected"])
            message = f"unknown value {_in_words(item['input']).removeprefix('the ')} for {_name_of(keys)}"
            near = _did_you_mean(str(item["input"]), allowed).strip() or None
            return shown(message, f"expected {item['ctx']['expected']}", near)
        case "metric_kind" if isinstance(item["input"], dict) and "kind" in item["input"]:
            kind = str(item["input"]["kind"])
            near = _did_you_mean(kind, list(KINDS)) + f"kinds: {', '.join(KINDS)}"
            return shown(f"unknown kind of metric `{kind}`", "there is no such kind", near, at=[*keys, "kind"])
        case "value_error":
            message = item["msg"].removeprefix("Value error, ")
            if keys:
                return shown(message, _name_of(keys))
            at = list(_part_of(data, message))
            return shown(message, _name_of(at) if at else "the file", at=at)
    # Pydantic says "Input should …", "String should …".
    message = re.sub(r"^\w+ should", f"{_name_of(keys)} should", item["msg"])
    return shown(message, f"found {_in_words(item['input'])}" if is_there else "here")


def _followed(data: Any, model: type[BaseModel], loc: tuple[Key, ...]) -> tuple[list[Key], list[type[BaseModel]], bool]:
    """Return the keys that lead there, the schemas that may hold for the table above the last, and if it exists.

    The tag of a metric's kind is in `loc` like a key, but is none.
    """
    keys: list[Key] = []
    models = [model]
    above = models
    is_there = True
    untagged = True
    for step in loc:
        if untagged and isinstance(data, dict) and step == data.get("kind") and keys:
            models = [one for one in models if data["kind"] in get_args(one.model_fields["kind"].annotation)] or models
            untagged = False
            continue
        keys.append(step)
        above = models
        fields = [one.model_fields[step] for one in models if step in one.model_fields]
        models = list(dict.fromkeys(found for field in fields for found in _models(field.annotation))) or models
        untagged = True
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            is_there = False
            data = None
    return keys, above, is_there


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _part_of(data: dict[str, Any], message: str) -> Iterator[Key]:
    """Yield the keys that lead to the part of the file of which a check over the whole file speaks."""
    if found := re.match(r"(\w+) `([^`]*)`: ", message):
        section, name_key = _PARTS.get(found[1], ("", ""))
        parts = data.get(section)
        if isinstance(parts, dict):
            key: Key | None = found[2] if found[2] in parts else None
        else:
            key = next((index for index, part in enumerate(parts or []) if part.get(name_key) == found[2]), None)
        if parts is None or key is None:
            return
        yield from (section, key)
        wrong = re.search(r"no \w+(?: with the title)? `([^`]*)`", message)
        yield from (_keys_to(wrong[1], parts[key]) or ()) if wrong else ()
    elif (found := re.match(r"(\w+)[:,]", message)) and found[1] in data:
        yield found[1]
        if twice := re.search(r"`([^`]*)` is given twice", message):
            parts = [index for index, part in enumerate(data[found[1]]) if twice[1] in part.values()]
            yield from parts[1:2]


def _keys_to(wanted: str | BaseModel, part: Any) -> list[Key] | None:
    """Return the keys that lead to that text, or to that very model, within a part of the file."""
    if part is wanted or (isinstance(wanted, str) and part == wanted):
        return []
    inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in part if isinstance(part, BaseModel) else inner:
        if (rest := _keys_to(wanted, value)) is not None:
            return [key, *rest]
    return None


def _name_of(keys: list[Key]) -> str:
    """Return the last key, for a message: "`claims`"."""
    name = next((key for key in reversed(keys) if isinstance(key, str)), None)
    return f"`{name}`" if name else "the file"


def _did_you_mean(wanted: str, names: list[str]) -> str:
    near = difflib.get_close_matches(wanted, names, n=1)
    return f"did you mean `{near[0]}`?\n" if near else ""


def _in_words(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'the text "{value}"'
        case int() | float():
            return f"the number {value:g}"
        case dict():
            return "a table"
        case list():
            return "a list"
    return str(value)
