"""Real packets: a capture replayed through one or several queues."""

from .result import ReplayResult
from .run import replay

__all__ = ["ReplayResult", "replay"]
