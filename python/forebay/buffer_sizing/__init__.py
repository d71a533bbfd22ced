"""Buffer sizing: the smallest buffer that reaches a target, searched for by simulation."""

from __future__ import annotations

from .result import BufferSize
from .run import size_buffer

__all__ = ["BufferSize", "size_buffer"]
