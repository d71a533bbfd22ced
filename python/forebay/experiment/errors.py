"""What can be wrong with an experiment's file or its use."""

from __future__ import annotations

from forebay.errors import InputError, ScenarioError


class ExperimentError(InputError):
    """An experiment cannot be used as asked. The message says which file and key, and what was expected."""


class ExperimentFileError(ExperimentError):
    """An experiment's file cannot be used. The message shows the line."""

    def __init__(self, shown: ScenarioError) -> None:
        super().__init__(str(shown))
        self.coloured = shown.coloured


class NotRunError(ExperimentError):
    """A value belongs to a run that this call leaves out: of a variant, or a value of the axis, that others run."""
