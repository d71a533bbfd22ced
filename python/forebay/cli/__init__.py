"""The command `forebay`: a file for each command, with its options.

The files with options do without `from __future__ import annotations`: typer would compile each option at every start.
"""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["console", "entry", "lists", "manual", "progress", "session"]

if TYPE_CHECKING:
    from . import console, entry, lists, manual, progress, session
else:
    __getattr__ = lazily(__name__, __all__)
