"""Convergence, recovery and fair shares as metrics, on made-up series and real scenarios."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from experiment_samples import FILE, outcome
from forebay.experiment.coordinates import BASE, Coordinates
from forebay.experiment.errors import ExperimentError
from forebay.experiment.figures import draw_figure
from forebay.experiment.metrics import MetricRef
from forebay.experiment.runs import Runs
from forebay.experiment.schema import Experiment
from forebay.runs.outcome import Outcome, Series

ADAPTER: TypeAdapter[Any] = TypeAdapter(MetricRef)
AT = Coordinates(BASE, "base", None)

STAR: dict[str, Any] = {
    "duration": "40 ms",
    "topology": {
        "ethernet": {
            "link": {"rate": "10 Gbps", "delay": "500 ns"},
            "switches": [{"name": "SW", "nodes": ["1", "2", "3"]}],
            "service": [{"node": "1", "rate": "5 Gbps", "from": "20 ms"}],
        }
    },
    "flows": [
        {"name": "mouse", "from": "2", "to": "1", "transport": {"frames": {"rate": "500 Mbps"}}},
        {"name": "elephant", "from": "3", "to": "1", "start": "10 ms", "transport": {"frames": {"rate": "10 Gbps"}}},
    ],
}


def experiment(**changes: Any) -> Experiment:
    kept = {key: copy.deepcopy(FILE[key]) for key in ("id", "title", "paper", "where")}
    return Experiment.model_validate({**kept, "scenario": copy.deepcopy(STAR), "seeds": 1, **changes})


def made(of: str = "queue", name: str = "SW->1", quantity: str = "length_mean_bytes", *values: float) -> Series:
    """One value a millisecond; the first is that of the first millisecond."""
    return Series(of, name, quantity, 1e-3, 1e-3, np.array(values))


def one(series: list[Series], **fields: Any) -> float:
    """The value of a metric over an outcome with these series; its flows are `tcp-0`, `tcp-1` and `bf`."""
    place = {"of": "queue", "name": "SW->1", "quantity": "length_mean_bytes"} if "of" not in fields else {}
    metric = ADAPTER.validate_python({**place, **fields})
    (value,) = Runs(experiment(), False, {AT: [Outcome(outcome().tables, series)]}).evaluate(metric, AT)
    return float(value.samples[0])


QUEUE = made("queue", "SW->1", "length_mean_bytes", 0, 0, 300e3, 90e3, 40e3, 60e3, 50e3, 50e3, 50e3, 50e3)


@pytest.mark.parametrize(
    ("fields", "milliseconds"),
    [
        # Absolute accuracy of the slides: from 1.5 to 280 KB, from the fourth millisecond on.
        ({"at_least": 1500.0, "at_most": 280e3}, 3.0),
        ({"at_least": 1500.0, "at_most": 280e3, "from_s": 0.002}, 1.0),
        # Relative to the mean of the last quarter, 50 KB.
        ({"within": 0.5}, 4.0),
        ({"within": 0.2}, 4.0),
        ({"within": 0.1}, 6.0),
        # From 45 to 135 KB.
        ({"within": 0.5, "around": 90e3}, 5.0),
        ({"within": 0.01, "around": 90e3, "until_s": 0.004}, 3.0),
        ({"at_least": 0.0}, 0.0),
        ({"at_most": 10e3}, math.nan),
        # Windows of 2 ms: 0, 195, 50, 50, 50 KB.
        ({"within": 0.1, "average_s": 2e-3}, 4.0),
    ],
)
def test_convergence_is_when_the_last_window_outside_has_gone(fields: dict[str, Any], milliseconds: float) -> None:
    found = one([QUEUE], kind="convergence", unit="ms", **fields)
    assert found == pytest.approx(milliseconds, nan_ok=True)


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=40), st.floats(0.0, 100.0))
def test_from_convergence_on_all_values_lie_in_the_band_and_the_one_before_does_not(
    values: list[float], bound: float
) -> None:
    series = made("queue", "SW->1", "length_mean_bytes", *values)
    found = one([series], kind="convergence", at_most=bound, unit="ms")
    if math.isnan(found):
        assert values[-1] > bound
    else:
        first = round(found)
        assert all(value <= bound for value in values[first:])
        assert first == 0 or values[first - 1] > bound


def test_convergence_of_a_group_is_that_of_its_last_flow() -> None:
    early = made("flow", "tcp-0", "goodput_bps", 0, 2.4e9, 2.5e9, 2.5e9)
    late = made("flow", "tcp-1", "goodput_bps", 0, 1.0e9, 1.9e9, 2.6e9)
    fields = {"kind": "convergence", "of": "flow", "quantity": "goodput_bps", "within": 0.2, "around": 2.5e9}
    assert one([early, late], group="tcp", unit="ms", **fields) == 3.0
    assert one([early, late], group="tcp", unit="ms", across="min", **fields) == 1.0
    never = made("flow", "tcp-1", "goodput_bps", 0, 1.0e9, 2.5e9, 1.6e9)
    assert math.isnan(one([early, never], group="tcp", across="min", **fields))


def test_convergence_over_phases_that_come_again() -> None:
    # Phases of 4 ms: full at once, after 1 ms, after 3 ms, and one that the run cuts off.
    link = made("link", "SW->1", "utilization", 1, 1, 1, 1, 0.5, 1, 1, 1, 0.5, 0.5, 0.5, 1, 0.5)
    fields = {"kind": "convergence", "of": "link", "name": "SW->1", "quantity": "utilization", "at_least": 0.95}
    times = {"from_s": 0.0, "until_s": 4e-3, "every_s": 4e-3, "phases": 4, "unit": "ms"}
    assert one([link], **fields, **times) == 1.0
    assert one([link], reduce="max", **fields, **times) == 3.0
    assert one([link], reduce="mean", **fields, **times) == pytest.approx(4 / 3)
    with pytest.raises(ExperimentError, match=r"the run is over at 0.013 s, before the phase"):
        one([link], **fields, from_s=0.1, until_s=0.2)
    with pytest.raises(ExperimentError, match=r"must be a multiple of the interval of the series, which is 0.001 s"):
        one([link], **fields, average_s=1.5e-3)


def test_mean_over_intervals_that_come_again() -> None:
    series = made("flow", "tcp-0", "goodput_bps", 5, 1, 2, 5, 3, 4, 5, 9)
    fields = {"kind": "series", "of": "flow", "name": "tcp-0", "quantity": "goodput_bps", "reduce": "mean"}
    assert one([series], **fields, from_s=0.0015, until_s=0.0035, every_s=0.003, phases=2) == 2.5


def test_fairness_of_rates_in_an_interval() -> None:
    series = [made("flow", f"tcp-{i}", "goodput_bps", 9, rate) for i, rate in enumerate((3.0, 1.0))]
    fields = {"kind": "series", "of": "flow", "group": "tcp", "quantity": "goodput_bps", "reduce": "mean"}
    assert one(series, **fields, from_s=0.0015, across="jain") == 0.8


@given(st.floats(1.0, 50.0), st.floats(0.1, 10.0))
def test_e_folding_time_of_an_exponential(tau_ms: float, start: float) -> None:
    grows = start * np.exp(np.arange(400) / tau_ms)
    halves = [made("flow", f"tcp-{i}", "sent_bps", *np.minimum(grows, 50 * start) / 2) for i in range(2)]
    fields = {"kind": "e_folding", "of": "flow", "quantity": "sent_bps", "group": "tcp", "unit": "ms"}
    found = one(halves, **fields, at_least=start, at_most=20 * start)
    assert found == pytest.approx(tau_ms, rel=1e-6) or tau_ms < 1.5


def test_what_does_not_grow_has_no_e_folding_time() -> None:
    fields = {"kind": "e_folding", "of": "flow", "name": "tcp-0", "quantity": "sent_bps", "at_most": 10.0}
    falls = made("flow", "tcp-0", "sent_bps", 4, 3, 2, 1)
    assert math.isnan(one([falls], at_least=0.5, **fields))
    short = made("flow", "tcp-0", "sent_bps", 1, 2, 11, 3, 4)
    assert math.isnan(one([short], at_least=0.5, **fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "convergence", "name": "q"}, "a band is `within` a share"),
        ({"kind": "convergence", "name": "q", "within": 0.1, "at_most": 1.0}, "a band is `within` a share"),
        ({"kind": "convergence", "name": "q", "at_most": 1.0, "around": 1.0}, "a band is `within` a share"),
        ({"kind": "convergence", "at_most": 1.0}, "a series needs `name` or `group`"),
        ({"kind": "convergence", "name": "q", "at_most": 1.0, "every_s": 1.0}, "phases that come again need"),
        ({"kind": "convergence", "name": "q", "at_most": 1.0, "phases": 2}, "phases that come again need"),
        ({"kind": "series", "name": "q", "reduce": "mean", "every_s": 1.0, "phases": 2}, "phases that come again need"),
    ],
)
def test_what_a_phase_needs(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ADAPTER.validate_python({"of": "queue", "quantity": "length_mean_bytes", **fields})


def fair(**fields: Any) -> float:
    runs = Runs(
        experiment(variants=[{"name": "base"}, {"name": "slow", "set": {"flows.mouse.start": "39 ms"}}]), False, {}
    )
    (value,) = runs.evaluate(ADAPTER.validate_python({"kind": "fair_share", "unit": "Gb/s", **fields}), AT)
    return float(value.samples[0])


def test_fair_shares_of_a_scenario_at_a_time() -> None:
    assert fair(name="elephant") == 0.0
    assert fair(name="mouse") == 0.5
    assert fair(name="elephant", at_s=0.010) == pytest.approx(9.5)
    assert fair(name="elephant", at_s=0.020) == pytest.approx(4.5)
    assert fair(name="elephant", at_s=0.020, fairness="proportional") == pytest.approx(4.5, rel=1e-6)
    assert fair(group="elephant", at_s=0.020, variant="slow") == pytest.approx(5.0)
    assert fair(reduce="sum", at_s=0.030) == pytest.approx(5.0)
    with pytest.raises(ExperimentError, match="no flow matches whale"):
        fair(name="whale")


def test_fair_shares_are_drawn_as_steps() -> None:
    figure = {
        "file": "f",
        "title": "t",
        "kind": "series",
        "y_label": "y",
        "y_scale": 1e-9,
        "series": [{"label": "elephant", "of": "flow", "name": "elephant", "quantity": "goodput_bps"}],
        "fair_shares": [{"label": "fair", "flow": "elephant"}],
    }
    drawn = experiment(figures=[figure])
    series = made("flow", "elephant", "goodput_bps", 1e9, 2e9)
    runs = Runs(drawn, False, {AT: [Outcome(outcome().tables, [series])]})
    axes = draw_figure(runs, drawn.figures[0]).axes[0]
    times, rates = (np.asarray(values, dtype=np.float64).tolist() for values in axes.lines[1].get_data())
    assert times == [0.0, 0.01, 0.01, 0.02, 0.02, 0.04]
    assert rates == pytest.approx([0.0, 0.0, 9.5, 9.5, 4.5, 4.5])
    unknown = experiment(figures=[{**figure, "fair_shares": [{"label": "fair", "flow": "whale"}]}])
    with pytest.raises(ExperimentError, match="there is no flow whale"):
        draw_figure(Runs(unknown, False, runs.outcomes), unknown.figures[0])
    with pytest.raises(ValidationError, match="`fair_shares` belong to a figure of kind `series`"):
        experiment(figures=[{**figure, "kind": "flows", "flows": [{"label": "f", "group": "g"}]}])
