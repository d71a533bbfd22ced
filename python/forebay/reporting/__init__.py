"""Reports: one HTML page about finished runs, replays, sweeps, comparisons and claims."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

__all__ = ["comparisons", "page"]

if TYPE_CHECKING:
    from . import comparisons, page
else:
    __getattr__ = lazily(__name__, __all__)
