"""A speed test of an access line by name: its scenario, and the rates and latencies that it measures."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

if TYPE_CHECKING:
    from . import scenario, table
else:
    __getattr__ = lazily(__name__, ["scenario", "table"])

__all__ = ["scenario", "table"]
