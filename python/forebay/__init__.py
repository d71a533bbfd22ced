"""Forebay tells what a queue will do to your traffic.

import forebay as fb

result = fb.run("examples/first.toml")
result.flows                        # one row a flow, as a Polars frame
result.plot.queue("bottleneck")     # a matplotlib figure
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import types
    from ._core import __version__
    from .buffer_sizing import BufferSize, size_buffer
    from .captures import ReplayResult, replay
    from .comparison import Comparison, compare, compare_runs
    from .errors import CaptureError, InputError, InternalError, ScenarioError
    from .ethernet import fair_shares
    from .fair_rates import RoutedFlow, link_prices, max_min_rates, proportional_rates
    from .fluid_model import Stability, judge_stability
    from .report import report
    from .result import Engine, Result, Series, load
    from .scenario import Scenario
    from .simulate import run
    from .sweep import Sweep, sweep

# Loaded at their first use: the command line starts without Polars and NumPy, and listens to Ctrl-C before anything.
_HOMES = {
    "BufferSize": "buffer_sizing",
    "CaptureError": "errors",
    "Comparison": "comparison",
    "Engine": "result",
    "InputError": "errors",
    "InternalError": "errors",
    "ReplayResult": "captures",
    "Result": "result",
    "RoutedFlow": "fair_rates",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Series": "result",
    "Stability": "fluid_model",
    "Sweep": "sweep",
    "__version__": "_core",
    "compare": "comparison",
    "compare_runs": "comparison",
    "fair_shares": "ethernet",
    "judge_stability": "fluid_model",
    "link_prices": "fair_rates",
    "load": "result",
    "max_min_rates": "fair_rates",
    "proportional_rates": "fair_rates",
    "replay": "captures",
    "report": "report",
    "run": "simulate",
    "size_buffer": "buffer_sizing",
    "sweep": "sweep",
}

__all__ = [
    "BufferSize",
    "CaptureError",
    "Comparison",
    "Engine",
    "InputError",
    "InternalError",
    "ReplayResult",
    "Result",
    "RoutedFlow",
    "Scenario",
    "ScenarioError",
    "Series",
    "Stability",
    "Sweep",
    "__version__",
    "compare",
    "compare_runs",
    "fair_shares",
    "judge_stability",
    "link_prices",
    "load",
    "max_min_rates",
    "proportional_rates",
    "replay",
    "report",
    "run",
    "size_buffer",
    "sweep",
    "types",
]


def __getattr__(name: str) -> object:
    if name == "types":
        return import_module(".types", __name__)
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Python makes an imported `forebay.sweep` an attribute here, and would hide the function `fb.sweep` by it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOMES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
