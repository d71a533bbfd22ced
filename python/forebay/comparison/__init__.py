"""Comparisons: one scenario under several queue disciplines, or several finished runs."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["contenders", "figure", "finished", "result", "run", "table"]

if TYPE_CHECKING:
    from . import contenders, figure, finished, result, run, table
else:
    __getattr__ = lazily(__name__, __all__)
