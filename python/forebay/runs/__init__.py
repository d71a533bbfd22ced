"""Runs: one or many, their execution on all cores, finished ones on disk, statistics over seeds."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["cluster", "mean", "measures", "single", "workers"]

if TYPE_CHECKING:
    from . import cluster, mean, measures, single, workers
else:
    __getattr__ = lazily(__name__, __all__)
