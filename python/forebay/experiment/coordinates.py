"""The place of runs in an experiment."""

from __future__ import annotations

from dataclasses import dataclass

BASE = ""
"""The name of the setting that is judged; the others are those of `[[sensitivity]]`."""


@dataclass(frozen=True)
class Coordinates:
    """Which runs: those of all seeds at one setting, variant and value of the axis."""

    setting: str
    variant: str
    x: float | None

    def label(self) -> str:
        """Return a name for messages and files."""
        parts = [self.setting, self.variant, "" if self.x is None else f"{self.x:g}"]
        return ", ".join(part for part in parts if part)
