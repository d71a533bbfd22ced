"""Sweeps: one scenario at many points, each under several seeds."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["dry", "paired", "plan", "result", "run", "seeds", "table", "until"]

if TYPE_CHECKING:
    from . import dry, paired, plan, result, run, seeds, table, until
else:
    __getattr__ = lazily(__name__, __all__)
