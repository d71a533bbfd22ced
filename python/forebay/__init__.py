"""What will this queue do to my traffic? Packet-level network simulation and a home of queue disciplines.

Example:
    >>> import forebay as fb
    >>> result = fb.run("examples/first.toml")
    >>> result.flows.columns[:3]  # one row per flow, as a Polars frame
    ['name', 'group', 'kind']
    >>> figure = result.plot.queue("bottleneck")  # a matplotlib figure

"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import gym, portable, types
    from ._core import __version__
    from .buffer_sizing import BufferSize, size_buffer
    from .captures import ReplayResult, replay
    from .comparison import Comparison, compare, compare_runs
    from .compiled import CompiledLaw, draw
    from .disciplines import AdmissionLaw, QueueDiscipline, Verdict
    from .errors import (
        CaptureError,
        DamagedFileWarning,
        DisciplineError,
        InputError,
        InternalError,
        ScenarioError,
    )
    from .ethernet import fair_shares
    from .experiment.reproduction import Reproduction, list_experiments, reproduce
    from .fair_rates import RoutedFlow, link_prices, max_min_rates, proportional_rates
    from .fluid_model import Stability, judge_stability
    from .reporting import report
    from .result import Engine, Result, Series, load
    from .scenario import Scenario
    from .simulate import run
    from .sweeps import PairedDifferences, SeededRuns, Sweep, compare_sweeps, sweep

# Loaded at their first use: the command line starts without Polars and NumPy, and listens to Ctrl-C before anything.
_HOMES = {
    "AdmissionLaw": "disciplines",
    "BufferSize": "buffer_sizing",
    "CaptureError": "errors",
    "Comparison": "comparison",
    "CompiledLaw": "compiled",
    "DamagedFileWarning": "errors",
    "DisciplineError": "errors",
    "Engine": "result",
    "InputError": "errors",
    "InternalError": "errors",
    "PairedDifferences": "sweeps",
    "QueueDiscipline": "disciplines",
    "ReplayResult": "captures",
    "Reproduction": "experiment.reproduction",
    "Result": "result",
    "RoutedFlow": "fair_rates",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "SeededRuns": "sweeps",
    "Series": "result",
    "Stability": "fluid_model",
    "Sweep": "sweeps",
    "Verdict": "disciplines",
    "__version__": "_core",
    "compare": "comparison",
    "compare_runs": "comparison",
    "compare_sweeps": "sweeps",
    "draw": "compiled",
    "fair_shares": "ethernet",
    "judge_stability": "fluid_model",
    "link_prices": "fair_rates",
    "list_experiments": "experiment.reproduction",
    "load": "result",
    "max_min_rates": "fair_rates",
    "proportional_rates": "fair_rates",
    "replay": "captures",
    "report": "reporting",
    "reproduce": "experiment.reproduction",
    "run": "simulate",
    "size_buffer": "buffer_sizing",
    "sweep": "sweeps",
}

__all__ = [
    "AdmissionLaw",
    "BufferSize",
    "CaptureError",
    "Comparison",
    "CompiledLaw",
    "DamagedFileWarning",
    "DisciplineError",
    "Engine",
    "InputError",
    "InternalError",
    "PairedDifferences",
    "QueueDiscipline",
    "ReplayResult",
    "Reproduction",
    "Result",
    "RoutedFlow",
    "Scenario",
    "ScenarioError",
    "SeededRuns",
    "Series",
    "Stability",
    "Sweep",
    "Verdict",
    "__version__",
    "compare",
    "compare_runs",
    "compare_sweeps",
    "draw",
    "fair_shares",
    "gym",
    "judge_stability",
    "link_prices",
    "list_experiments",
    "load",
    "max_min_rates",
    "portable",
    "proportional_rates",
    "replay",
    "report",
    "reproduce",
    "run",
    "size_buffer",
    "sweep",
    "types",
]


def __getattr__(name: str) -> object:
    if name in ("gym", "portable", "types"):
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)
