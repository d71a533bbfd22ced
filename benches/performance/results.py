"""The measurements as stored next to the page, so that it can be redrawn without measuring."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from performance.parts import PARTS
from performance.samples import Samples
from performance.scaling import CURVES, curve_table
from performance.suite import memory_table, speed_table, thread_table
from performance.tables import Table

FILE = "performance.json"
Document = dict[str, Any]


class NoResultsError(Exception):
    """There is nothing to draw a page from."""


@dataclass(frozen=True)
class Bench:
    """The measurements of one call of `make bench`."""

    document: Document

    @property
    def suite(self) -> list[Samples]:
        """Samples of the scenarios."""
        return [Samples.from_document(entry) for entry in self.document["suite"]]

    @property
    def curves(self) -> dict[str, list[Samples]]:
        """By the name of the curve, in the order of the page."""
        stored = self.document["scaling"]
        names = [curve.name for curve in CURVES if stored.get(curve.name)]
        return {name: [Samples.from_document(entry) for entry in stored[name]] for name in names}

    def suite_tables(self) -> list[Table]:
        """Speed, wall time with more threads, and memory."""
        if not self.suite:
            return []
        tables = [speed_table(self.suite), thread_table(self.suite)]
        return [*(it for it in tables if it.rows), memory_table(self.suite, self.document["bare_python_mb"])]

    def curve_tables(self) -> dict[str, Table]:
        """By the name of the curve."""
        by_name = {curve.name: curve for curve in CURVES}
        return {name: curve_table(by_name[name], measured) for name, measured in self.curves.items()}

    def part_tables(self) -> list[Table]:
        """Tables of measurements by separate programs."""
        return [PARTS[name].table(entries) for name, entries in self.document["parts"].items() if entries]

    def tables(self) -> list[Table]:
        """All of them."""
        return [*self.suite_tables(), *self.curve_tables().values(), *self.part_tables()]


def documents(measured: Sequence[Samples]) -> list[Document]:
    """Plain values."""
    return [samples.to_document() for samples in measured]


def load(folder: Path) -> Document:
    """The contents of the folder: `bench` and `profile`, or nothing."""
    path = folder / FILE
    try:
        stored: Document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        message = f"{path} is no JSON document: {error}\nhint: remove it, and measure again with `make bench`"
        raise NoResultsError(message) from error
    return stored


def store(folder: Path, part: str, document: Document) -> Document:
    """Replaces one part of what is stored. Returns all of it."""
    stored = load(folder) | {part: document}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return stored
