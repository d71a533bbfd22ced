"""Parameters that fit a discipline to its link, where it is given by its name alone. The rule itself is in the core."""

from __future__ import annotations

from collections.abc import Mapping

from forebay import _core

Fitted = Mapping[str, "str | float"]
"""Parameters by their names."""


def fitted_to(discipline: str, rate: str, limit: str | None, given: Mapping[str, object]) -> dict[str, str | float]:
    """Return the parameters that follow from the link's rate and the buffer, without those that are given.

    `limit` is the limit of the queue that is replaced. A limit that is given takes its place; if it cannot be read,
    nothing is fitted, and the check of the queue refuses it. Raises ValueError for a rate or a `limit` that cannot be
    read.
    """
    own = given.get("limit", limit)
    try:
        found = _core.fitted_queue(discipline, rate, None if own is None else str(own))
    except ValueError:
        if "limit" not in given:
            raise
        return {}
    # A preset of DBL decides the packet size, and a queue inside has a limit of its own.
    decided = {*given} | ({"max_packet_size"} if "preset" in given else set())
    decided |= {"limit"} if "queue" in given else set()
    return {name: value for name, value in found if name not in decided}


def notes_on(fitted: Mapping[str, Fitted]) -> list[str]:
    """Return lines that say which parameters were fitted, by the labels of the queues; queues alike share a line."""
    lines: dict[str, list[str]] = {}
    for label, parameters in fitted.items():
        text = ", ".join(f"{name} {_text(value)}" for name, value in parameters.items())
        if text:
            lines.setdefault(text, []).append(label)
    notes = [f"{', '.join(labels)}: {text}" for text, labels in lines.items()]
    return ["Parameters that were not given follow from the link and its buffer:", *notes] if notes else []


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
