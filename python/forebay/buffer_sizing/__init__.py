"""Buffer sizing: the smallest buffer that reaches a target, searched for by simulation."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["figure", "result", "run", "table", "targets"]

if TYPE_CHECKING:
    from . import figure, result, run, table, targets
else:
    __getattr__ = lazily(__name__, __all__)
