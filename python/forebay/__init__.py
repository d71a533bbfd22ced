"""What will this queue do to my traffic? Packet-level network simulation and a home of queue disciplines.

Example:
    >>> import forebay as fb
    >>> result = fb.run("examples/first.toml")
    >>> result.flows.columns[:3]  # one row per flow, as a Polars frame
    ['name', 'group', 'kind']
    >>> figure = result.plot.queue("bottleneck")  # a matplotlib figure

"""

from typing import TYPE_CHECKING

from .lazy import lazily

if TYPE_CHECKING:
    from . import gym, portable, types
    from . import plot as plot
    from ._core import __version__
    from .buffer_sizing.result import BufferSize
    from .buffer_sizing.run import size_buffer
    from .captures.result import ReplayResult
    from .captures.run import replay
    from .comparison.finished import compare_runs
    from .comparison.result import Comparison
    from .comparison.run import compare
    from .disciplines.classes import AdmissionLaw, QueueDiscipline, Verdict
    from .disciplines.compiled import CompiledLaw, draw
    from .disciplines.controllers import CongestionController
    from .errors import (
        CaptureError,
        ControllerError,
        DamagedFileWarning,
        DisciplineError,
        InputError,
        InternalError,
        ScenarioError,
    )
    from .experiment.reproduction import Reproduction, list_experiments, reproduce
    from .fair_rates.rates import RoutedFlow, link_prices, max_min_rates, proportional_rates
    from .fair_rates.shares import fair_shares
    from .flent.export import export_flent
    from .flent.scenarios import flent_scenario
    from .fluid_model.result import Stability
    from .fluid_model.run import judge_stability
    from .rate_traces.description import RateTrace, describe_trace
    from .reporting.write import report
    from .result import Engine, Result, load
    from .runs.series import Series
    from .runs.single import run
    from .scenario import Scenario
    from .speed_tests.measured import SpeedTest, speed_test
    from .speed_tests.scenario import speed_test_scenario
    from .sweeps.paired import PairedDifferences, compare_sweeps
    from .sweeps.result import Sweep
    from .sweeps.run import sweep
    from .sweeps.seeds import SeededRuns
else:
    __getattr__ = lazily(
        __name__,
        ["gym", "plot", "portable", "types"],
        {
            "buffer_sizing.result": ("BufferSize",),
            "buffer_sizing.run": ("size_buffer",),
            "captures.result": ("ReplayResult",),
            "captures.run": ("replay",),
            "comparison.finished": ("compare_runs",),
            "comparison.result": ("Comparison",),
            "comparison.run": ("compare",),
            "disciplines.classes": ("AdmissionLaw", "QueueDiscipline", "Verdict"),
            "disciplines.compiled": ("CompiledLaw", "draw"),
            "disciplines.controllers": ("CongestionController",),
            "errors": (
                "CaptureError",
                "ControllerError",
                "DamagedFileWarning",
                "DisciplineError",
                "InputError",
                "InternalError",
                "ScenarioError",
            ),
            "experiment.reproduction": ("Reproduction", "list_experiments", "reproduce"),
            "fair_rates.rates": ("RoutedFlow", "link_prices", "max_min_rates", "proportional_rates"),
            "fair_rates.shares": ("fair_shares",),
            "flent.export": ("export_flent",),
            "flent.scenarios": ("flent_scenario",),
            "fluid_model.result": ("Stability",),
            "fluid_model.run": ("judge_stability",),
            "rate_traces.description": ("RateTrace", "describe_trace"),
            "reporting.write": ("report",),
            "result": ("Engine", "Result", "load"),
            "runs.series": ("Series",),
            "runs.single": ("run",),
            "scenario": ("Scenario",),
            "speed_tests.measured": ("SpeedTest", "speed_test"),
            "speed_tests.scenario": ("speed_test_scenario",),
            "sweeps.paired": ("PairedDifferences", "compare_sweeps"),
            "sweeps.result": ("Sweep",),
            "sweeps.run": ("sweep",),
            "sweeps.seeds": ("SeededRuns",),
            "_core": ("__version__",),
        },
    )

__all__ = [
    "AdmissionLaw",
    "BufferSize",
    "CaptureError",
    "Comparison",
    "CompiledLaw",
    "CongestionController",
    "ControllerError",
    "DamagedFileWarning",
    "DisciplineError",
    "Engine",
    "InputError",
    "InternalError",
    "PairedDifferences",
    "QueueDiscipline",
    "RateTrace",
    "ReplayResult",
    "Reproduction",
    "Result",
    "RoutedFlow",
    "Scenario",
    "ScenarioError",
    "SeededRuns",
    "Series",
    "SpeedTest",
    "Stability",
    "Sweep",
    "Verdict",
    "__version__",
    "compare",
    "compare_runs",
    "compare_sweeps",
    "describe_trace",
    "draw",
    "export_flent",
    "fair_shares",
    "flent_scenario",
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
    "speed_test",
    "speed_test_scenario",
    "sweep",
    "types",
]


def __dir__() -> list[str]:
    return sorted(__all__)
