"""Traces of a link's rate: mahimahi's format, or CSV with `duration_ms` and `bandwidth_kbps`."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

if TYPE_CHECKING:
    from . import table
else:
    __getattr__ = lazily(__name__, ["table"])

__all__ = ["table"]
