"""The live data plane from the command line: the program that forwards, and what watches it."""

from __future__ import annotations

from .program import start

__all__ = ["start"]
