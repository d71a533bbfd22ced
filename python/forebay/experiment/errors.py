"""Errors of an experiment's file or its use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.errors import InputError, ScenarioError

if TYPE_CHECKING:
    from .strict import Strict


class ExperimentError(InputError):
    """An experiment cannot be used as asked. The message names the file, the key, and the expected value."""

    def __init__(self, message: str, part: Strict | None = None) -> None:
        super().__init__(message)
        self.part = part
        """The part of the experiment that it is about, where only its evaluation showed what is wrong."""


class ExperimentFileError(ExperimentError):
    """An experiment's file cannot be used. The message shows the line."""

    def __init__(self, shown: ScenarioError) -> None:
        super().__init__(str(shown))
        self.coloured = shown.coloured


class MetricError(ExperimentError):
    """A run does not have what a metric asks for. The message names the fault, not the place of the metric."""


class NoSuchRunError(ExperimentError):
    """There is no run at the variant and the value of the axis that a metric leads to."""


class NotRunError(NoSuchRunError):
    """A value belongs to a run that this call leaves out: of a variant, or a value of the axis, that others run."""
