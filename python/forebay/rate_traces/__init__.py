"""Traces of a link's rate: mahimahi's format, or CSV with `duration_ms` and `bandwidth_kbps`."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

if TYPE_CHECKING:
    from . import table
    from .description import RateTrace, describe_trace
else:
    __getattr__ = lazily(__name__, ["table"], {"description": ("RateTrace", "describe_trace")})

__all__ = ["RateTrace", "describe_trace", "table"]
