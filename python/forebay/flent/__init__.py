"""Tests of flent by name: their scenarios, and results in flent's format."""

from typing import TYPE_CHECKING

from forebay.lazy import lazily

if TYPE_CHECKING:
    from . import export, scenarios
else:
    __getattr__ = lazily(__name__, ["export", "scenarios"])

__all__ = ["export", "scenarios"]
