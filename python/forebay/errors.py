"""What can go wrong, as exceptions. Their messages are for people: what is wrong, where, and what to do."""

from ._core import CaptureError, DisciplineError, InternalError, ScenarioError


class InputError(ValueError):
    """A file, a folder, a name or an option cannot be used as asked. The command line ends with status 2."""


__all__ = ["CaptureError", "DisciplineError", "InputError", "InternalError", "ScenarioError"]
