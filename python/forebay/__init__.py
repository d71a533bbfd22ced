"""Forebay tells what a queue will do to your traffic.

import forebay as fb

result = fb.run("examples/first.toml")
result.flows                        # one row a flow, as a Polars frame
result.plot.queue("bottleneck")     # a matplotlib figure
"""

from . import types
from ._core import __version__
from .captures import ReplayResult, replay
from .errors import InputError, InternalError, ScenarioError
from .result import Engine, Result, Series
from .scenario import Scenario
from .simulate import run

load = Result.load

__all__ = [
    "Engine",
    "InputError",
    "InternalError",
    "ReplayResult",
    "Result",
    "Scenario",
    "ScenarioError",
    "Series",
    "__version__",
    "load",
    "replay",
    "run",
    "types",
]
