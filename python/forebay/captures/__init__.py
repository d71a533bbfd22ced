"""Real packets: a capture replayed through one or several queues."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["plot", "result", "run", "table"]

if TYPE_CHECKING:
    from . import plot, result, run, table
else:
    __getattr__ = lazily(__name__, __all__)
