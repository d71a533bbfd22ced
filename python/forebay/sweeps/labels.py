"""Values of a sweep in words: `{ islip = { iterations = 1 } }` is "islip, 1 iteration"."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from forebay.display.quantity import title

_MEANS = {"utilization": "Mean utilization of all ports", "length_mean_packets": "Mean length of all queues"}
_COUNTED = re.compile(r"[a-z]+(?:[^s]s)")
_MOST = 60
"""Longer texts stay as they are."""


def value_label(value: object) -> str:
    """Return a value for a legend or the name of a row. Only a table with one key is put into words."""
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    if not text.lstrip().startswith("{"):
        return text
    try:
        table = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    label = _table_label(table)
    return label if label is not None and len(label) <= _MOST else text


def metric_title(metric: str, *, several_queues: bool) -> str:
    """Return the name of a metric without its group and its unit. A mean over several queues is called so."""
    quantity = metric.rpartition(".")[2]
    return _MEANS.get(quantity, title(quantity)) if several_queues else title(quantity)


def _table_label(table: dict[str, Any]) -> str | None:
    if len(table) != 1:
        return None
    ((name, parameters),) = table.items()
    if not isinstance(parameters, dict) or any(isinstance(value, dict | list) for value in parameters.values()):
        return None
    return ", ".join([name, *(_parameter_label(key, value) for key, value in parameters.items())])


def _parameter_label(key: str, value: object) -> str:
    words = key.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"not {words}"
    if isinstance(value, int) and _COUNTED.fullmatch(key):
        return f"{value:,} {words.removesuffix('s') if value == 1 else words}"
    return f"{words} {value}"
