"""Metrics on made-up outcomes, and the statistics behind them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from experiment_samples import every_outcome, outcome, sample
from forebay.experiment.coordinates import BASE, Coordinates
from forebay.experiment.errors import ExperimentError, MetricError, NotRunError
from forebay.experiment.judge import places
from forebay.experiment.metrics import KINDS, Metric, MetricRef, OutcomeMetric, Value
from forebay.experiment.metrics.dbl_collision import collision_probability
from forebay.experiment.metrics.dbl_collision_measured import collision_share
from forebay.experiment.metrics.dbl_identification_bound import DblIdentificationBound
from forebay.experiment.metrics.sfb_best_levels import best_levels
from forebay.experiment.metrics.sfb_crossing import single_level_from
from forebay.experiment.metrics.sfb_misclassification import misclassification_probability
from forebay.experiment.metrics.sfb_misclassification_measured import misclassified_share
from forebay.experiment.metrics.trials import standard_error
from forebay.experiment.runs import Runs
from forebay.experiment.schema import Check
from forebay.runs.fairness import jain
from forebay.runs.outcome import Outcome, Series
from forebay.runs.statistics import crossing, estimate_mean, estimate_ratio, student_t_quantile

ADAPTER: TypeAdapter[Any] = TypeAdapter(MetricRef)
AT = Coordinates(BASE, "A", 1.0)


def metric(**fields: Any) -> Metric:
    parsed: Metric = ADAPTER.validate_python(fields)
    return parsed


def made(variant: str, x: float | None, seed: int) -> Any:
    """TCP goodput falls with x; variant B gets half; seeds differ by 2 Mb/s."""
    share = 1.0 if variant == "A" else 0.5
    return outcome(tcp=(share * 8e6 / (x or 1) + 2e6 * seed, share * 8e6 / (x or 1) + 2e6 * seed))


@pytest.fixture
def runs() -> Runs:
    experiment = sample()
    return Runs(experiment, False, every_outcome(experiment, made))


def one(**fields: Any) -> float:
    """The value of a metric over one outcome."""
    experiment = sample()
    everything = every_outcome(experiment, lambda _variant, _x, _seed: outcome(), seeds=1)
    (value,) = Runs(experiment, False, everything).evaluate(metric(**fields), AT)
    return float(value.samples[0])


# Critical values of Student's t at 97.5 %, as printed in every table of it.
@pytest.mark.parametrize(
    ("degrees", "value"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (1000, 1.962)]
)
def test_student_t(degrees: int, value: float) -> None:
    assert student_t_quantile(0.975, degrees) == pytest.approx(value, abs=5e-4)


def test_interval_of_a_mean_by_hand() -> None:
    # 1, 2, 3, 4, 5: mean 3, standard deviation sqrt(2.5), so 2.776 * sqrt(2.5 / 5) = 1.963.
    estimate = estimate_mean(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert estimate.mean == 3.0
    assert estimate.ci95 == pytest.approx(1.9633, abs=1e-4)
    assert estimate_mean(np.array([7.0])).ci95 is None


def test_ratio_of_means() -> None:
    estimate = estimate_ratio(np.array([1.0, 3.0]), np.array([0.0, 2.0]))
    assert estimate.mean == 2.0
    # A constant denominator: the interval is that of the numerator, divided by it.
    scaled = estimate_ratio(np.array([2.0, 4.0, 6.0]), np.array([2.0]))
    assert scaled.ci95 == pytest.approx((estimate_mean(np.array([1.0, 2.0, 3.0])).ci95 or 0) * 1.0)
    assert estimate_ratio(np.array([1.0]), np.array([0.0])).mean == math.inf
    assert math.isnan(estimate_ratio(np.array([0.0]), np.array([0.0])).mean)


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=50))
def test_jain_lies_between_one_over_n_and_one(values: list[float]) -> None:
    assert 1 / len(values) - 1e-9 <= jain(np.array(values)) <= 1 + 1e-9


def test_jain_at_its_ends() -> None:
    assert jain(np.array([3.0, 3.0])) == 1.0
    assert jain(np.array([3.0, 0.0, 0.0])) == pytest.approx(1 / 3)
    assert math.isnan(jain(np.zeros(2)))


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"column": "goodput_bps", "name": "bf", "unit": "Mb/s"}, 70.0),
        ({"column": "goodput_bps", "group": "tcp"}, 15e6),
        ({"column": "goodput_bps", "group": "tcp", "reduce": "min"}, 10e6),
        ({"column": "goodput_bps", "reduce": "sum"}, 100e6),
        ({"column": "goodput_bps", "group": "tcp", "reduce": "jain"}, 0.9),
        ({"column": "goodput_bps", "name": "tcp-*", "reduce": "max"}, 20e6),
        ({"column": "goodput_bps", "name": "*", "reduce": "count"}, 3.0),
        ({"table": "queue_flows", "column": "classified_at_s", "reduce": "count"}, 1.0),
        ({"table": "queue_flows", "name": "bf", "column": "classified_at_s", "minus": "start_s"}, 1.0),
        ({"table": "queue_flows", "group": "tcp", "column": "packets_dropped", "reduce": "sum"}, 0.0),
        (
            {
                "table": "queue_flows",
                "queue": "bottleneck",
                "column": "packets_dropped",
                "per": "packets_arrived",
                "reduce": "max",
                "unit": "%",
            },
            25.0,
        ),
        (
            {
                "table": "queue_flows",
                "name": "bf",
                "column": "packets_dropped",
                "per": "packets_arrived",
                "times": "goodput_bps",
                "unit": "Mb/s",
            },
            17.5,
        ),
        ({"column": "goodput_bps", "reduce": "share", "at_least": 20e6, "unit": "%"}, 200 / 3),
        ({"column": "goodput_bps", "reduce": "share", "at_most": 20e6}, 2 / 3),
        ({"column": "goodput_bps", "reduce": "share", "at_least": 15e6, "at_most": 20e6}, 1 / 3),
        ({"table": "queue_flows", "column": "classified_at_s", "reduce": "share", "at_least": 0.0}, 1.0),
        ({"table": ["queues", "adapters"], "column": "paused_s", "reduce": "sum"}, 1.5),
        ({"table": ["queues", "adapters"], "name": "A*", "column": "paused_s", "reduce": "max"}, 0.5),
        ({"table": ["queues", "adapters"], "name": "2", "column": "paused_s"}, 0.75),
    ],
)
def test_columns(fields: dict[str, Any], value: float) -> None:
    assert one(kind="column", **fields) == pytest.approx(value)


HOME: dict[str, Any] = {
    "name": ["a", "b", "c", "d", "request"],
    "group": ["film", "film", "film", "copy", "film"],
    "source": ["cloud", "cloud", "films", "laptop", "phone"],
    "destination": ["laptop", "laptop", "phone", "phone", "films"],
    "goodput_bps": [10e6, 20e6, 10e6, 5e6, 1e6],
    "packets_dropped": [1, 30, 5, 0, 0],
    "packets_sent": [100, 400, 100, 50, 10],
}


@pytest.mark.parametrize(
    ("fields", "line", "value"),
    [
        # The laptop receives 30 Mb/s, the phone 15 Mb/s, and the server 1 Mb/s.
        ({"by": "destination", "host": "laptop", "reduce": "sum"}, False, 30e6),
        ({"by": "destination", "host": "*o*", "reduce": "max", "unit": "Mb/s"}, False, 30.0),
        ({"by": "destination", "reduce": "jain"}, False, 46**2 / (3 * (30**2 + 15**2 + 1))),
        ({"by": "destination", "group": "film", "host": "phone"}, False, 10e6),
        ({"by": "source", "reduce": "count"}, False, 4.0),
        # A quotient of sums: the laptop loses 31 packets of 500, not 1 % and 7.5 %.
        ({"by": "destination", "column": "packets_dropped", "per": "packets_sent", "host": "laptop"}, False, 31 / 500),
        (
            {"by": "destination", "column": "packets_sent", "minus": "packets_dropped", "per": "packets_sent"},
            False,
            (469 / 500 + 145 / 150 + 1) / 3,
        ),
        # Over the line, the laptop gets 30 Mb/s and the phone 10 Mb/s. Only the phone sends.
        ({"by": "destination", "reduce": "jain"}, True, 0.8),
        ({"by": "source", "reduce": "sum"}, True, 1e6),
    ],
)
def test_columns_by_host(fields: dict[str, Any], line: bool, value: float) -> None:
    columns = HOME | ({"line": ["down", "down", "down", "none", "up"]} if line else {})
    of_home = Outcome({"flows": {name: np.array(values) for name, values in columns.items()}})
    of_hosts = metric(**{"kind": "column", "column": "goodput_bps", **fields})
    assert isinstance(of_hosts, OutcomeMetric)
    assert of_hosts.of_outcome(of_home) == pytest.approx(value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"host": "phone"}, "`host` needs `by`"),
        ({"by": "destination", "table": "links"}, "`by` is for the table `flows` alone"),
        ({"by": "host"}, "'source' or 'destination'"),
        ({"by": "source", "times": "packets_sent"}, "`times` is for single flows"),
        ({"by": "source", "column": "delay_mean_s"}, "`delay_mean_s` is no sum"),
        ({"by": "source", "minus": "jitter_s"}, "`jitter_s` is no sum"),
        ({"by": "source", "per": "start_s"}, "`start_s` is no sum"),
    ],
)
def test_hosts_that_no_metric_has(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        metric(**{"kind": "column", "column": "goodput_bps", **fields})


def test_a_run_of_a_version_without_hosts_has_no_metric_of_them() -> None:
    with pytest.raises(ExperimentError, match="the table `flows` has no column `source`"):
        one(kind="column", column="goodput_bps", by="source")


def test_a_name_that_is_in_none_of_the_tables_is_an_error() -> None:
    with pytest.raises(ExperimentError, match="no row of `queues`, `adapters` matches B"):
        one(kind="column", table=["queues", "adapters"], name="B", column="paused_s")


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"reduce": "min"}, 1.0),
        ({"reduce": "last"}, 2.0),
        ({"reduce": "mean", "from_s": 1.0, "until_s": 2.0}, 5.0),
        ({"reduce": "first_time", "at_most": 5.0, "unit": "ms"}, 0.0),
        ({"reduce": "first_time", "at_most": 5.0, "after_peak": True}, 1.5),
        ({"reduce": "first_time", "at_least": 9.0}, 0.5),
        ({"reduce": "share", "at_least": 5.0}, 0.5),
        ({"reduce": "share", "at_most": 2.0, "from_s": 2.0}, 1.0),
    ],
)
def test_series(fields: dict[str, Any], value: float) -> None:
    assert one(kind="series", of="queue", name="bottleneck", quantity="dbl", **fields) == value


def test_series_that_never_gets_there_has_no_value() -> None:
    never = one(kind="series", of="queue", name="bottleneck", quantity="dbl", reduce="first_time", at_most=-1.0)
    assert math.isnan(never)


def test_series_of_a_group() -> None:
    total = one(kind="series", of="flow", group="tcp", quantity="goodput_bps", reduce="last", across="sum")
    assert total == 8.0


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "column", "column": "goodput_bps", "reduce": "share"},
        {"kind": "column", "column": "goodput_bps", "at_least": 1.0},
        {"kind": "series", "of": "queue", "name": "q", "quantity": "dbl", "reduce": "share"},
        {"kind": "series", "of": "queue", "name": "q", "quantity": "dbl", "reduce": "mean", "at_most": 1.0},
    ],
)
def test_bounds_go_with_shares(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="share"):
        metric(**fields)


STAIRS: dict[str, Any] = {
    "kind": "windows",
    "of": "queue",
    "name": "bottleneck",
    "quantity": "dbl",
    "first_s": 0.0,
    "step_s": 2.0,
    "count": 2,
    "settle_s": 0.5,
    "expected_first": 9.0,
    "expected_step": -2.0,
}


def test_windows_are_a_staircase() -> None:
    runs = Runs(sample(), False, {AT: [outcome(dbl=(1, 9, 9, 9, 7, 7, 7, 7))]})
    assert [value.samples.tolist() for value in runs.evaluate(metric(**STAIRS), AT)] == [[0.0], [0.0]]


def alone(it: Outcome, **fields: Any) -> float:
    """The value of a metric in one run, without an experiment."""
    found = metric(**fields)
    assert isinstance(found, OutcomeMetric)
    return found.of_outcome(it)


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"kind": "column", "column": "goodput_bps", "name": "bf", "unit": "Mb/s"}, 70.0),
        ({"kind": "column", "column": "classified_at_s", "table": "queue_flows", "group": "tcp"}, math.nan),
        ({"kind": "series", "of": "queue", "name": "bottleneck", "quantity": "dbl", "reduce": "max"}, 9.0),
        (
            {
                "kind": "convergence",
                "of": "queue",
                "name": "bottleneck",
                "quantity": "dbl",
                "average_s": 0.5,
                "at_most": 4.0,
                "unit": "ms",
            },
            1000.0,
        ),
        (
            {
                "kind": "e_folding",
                "of": "flow",
                "name": "bf",
                "quantity": "goodput_bps",
                "at_least": 5.0,
                "at_most": 9.0,
            },
            math.nan,
        ),
    ],
)
def test_what_a_single_run_has_is_what_a_seed_has(fields: dict[str, Any], value: float) -> None:
    assert alone(outcome(), **fields) == pytest.approx(one(**fields), nan_ok=True)
    assert alone(outcome(), **fields) == pytest.approx(value, nan_ok=True)


def test_of_windows_a_single_run_has_the_one_farthest_off() -> None:
    assert alone(outcome(dbl=(1, 9, 9, 9, 4, 4, 4, 4)), **STAIRS) == -3.0
    assert alone(outcome(dbl=(1, 9, 9, 10, 8, 8, 8, 8)), **STAIRS) == 1.0
    assert math.isnan(alone(outcome(dbl=(1, 9, 9, 9)), **STAIRS))


def test_what_a_single_run_does_not_have_is_named() -> None:
    with pytest.raises(MetricError, match=r"^the table `flows` has no column `speed`; it has name, group"):
        alone(outcome(), kind="column", column="speed")


def test_each_kind_is_a_file_of_its_name() -> None:
    assert {name: kind.__module__.rpartition(".")[2] for name, kind in KINDS.items()} == {name: name for name in KINDS}


def test_recovery_compares_windows_around_a_release() -> None:
    held = Series("queue_flow", "bottleneck/tcp-0", "credits", 0.0, 0.5, np.array([0.0, 0, 15, 15, 15, 15]))
    free = Series("queue_flow", "bottleneck/tcp-1", "credits", 0.0, 0.5, np.array([15.0] * 6))
    rate = [Series("flow", f"tcp-{i}", "goodput_bps", 0.0, 0.5, np.array([1.0, 1, 8, 10, 20, 20])) for i in range(2)]
    with_release = Outcome(outcome().tables, [held, free, *rate])
    without = Outcome(outcome().tables, [replace(held, values=free.values), free, *rate])
    released = metric(
        kind="recovery",
        group="tcp",
        queue="bottleneck",
        gauge="credits",
        at_most=2.0,
        first_s=0.0,
        window_s=1.0,
        count=3,
    )
    (value,) = Runs(sample(), False, {AT: [with_release, without]}).evaluate(released, AT)
    assert value.estimate().mean == 9.0
    (nothing,) = Runs(sample(), False, {AT: [without]}).evaluate(released, AT)
    assert math.isnan(nothing.estimate().mean)
    assert isinstance(released, OutcomeMetric)
    assert released.of_outcome(with_release) == 9.0
    assert math.isnan(released.of_outcome(without))


def test_difference_and_ratio_between_variants(runs: Runs) -> None:
    gap = runs.evaluate_one(metric(kind="difference", of="tcp", variant="A", minus_variant="B", factor=0.5), AT)
    assert gap.samples.tolist() == pytest.approx([10 - 0.5 * 6, 12 - 0.5 * 8])
    (ratio,) = runs.evaluate(metric(kind="ratio", of="tcp", over_variant="B"), AT)
    assert ratio.estimate().mean == pytest.approx(11 / 7)
    (over_other,) = runs.evaluate(metric(kind="ratio", of="bf", over="tcp"), AT)
    assert over_other.estimate().mean == pytest.approx(70 / 11)


def test_steps_along_the_axis_and_along_variants(runs: Runs) -> None:
    along_x = runs.evaluate(metric(kind="step", of="tcp"), AT)
    assert [value.estimate().mean for value in along_x] == pytest.approx([-4.0, -2.0])
    assert along_x[0].label == "A, 1 to A, 2"
    along_variants = runs.evaluate(metric(kind="step", of="tcp", variants=["A", "B"]), AT)
    assert [value.estimate().mean for value in along_variants] == pytest.approx([-4.0])


@pytest.mark.parametrize(
    ("level", "x"), [(0.5, 1.0), (0.6, 1.0), (0.7, 1.5), (0.8, 2.0), (0.9, 3.0), (1.0, 4.0), (1.1, math.nan)]
)
def test_crossing_of_a_level(level: float, x: float) -> None:
    found = crossing(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.6, 0.8, 1.0, 0.7]), level)
    assert found == pytest.approx(x, nan_ok=True)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20), st.floats(0.0, 1.0))
def test_a_crossing_lies_at_or_before_the_first_value_that_reaches_the_level(ys: list[float], level: float) -> None:
    found = crossing(np.arange(len(ys), dtype=np.float64), np.array(ys), level)
    reached = [x for x, y in enumerate(ys) if y >= level]
    if not reached:
        assert math.isnan(found)
    else:
        assert max(0, reached[0] - 1) <= found <= reached[0]


def test_crossing_along_the_axis_for_each_seed(runs: Runs) -> None:
    # Mb/s at x = 1, 2, 4: 10, 6, 4 with the first seed, and 12, 8, 6 with the second; in the negative they rise.
    rising = {"kind": "difference", "of": "bf", "minus": "tcp"}
    (value,) = runs.evaluate(metric(kind="crossing", of=rising, at_least=63.0), AT)
    assert value.samples.tolist() == [1.75, 3.0]
    (scaled,) = runs.evaluate(metric(kind="crossing", of=rising, at_least=63.0, times="rate"), AT)
    assert scaled.samples.tolist() == [3.5e8, 6e8]
    (never,) = runs.evaluate(metric(kind="crossing", of=rising, at_least=65.0), AT)
    assert math.isnan(never.estimate().mean)


def test_average_over_the_axis(runs: Runs) -> None:
    (value,) = runs.evaluate(metric(kind="average", of="tcp"), AT)
    assert value.samples.tolist() == pytest.approx([20 / 3, 26 / 3])
    assert runs.unit(metric(kind="average", of="tcp")) == "Mb/s"


def test_spread_of_the_means(runs: Runs) -> None:
    (along_x,) = runs.evaluate(metric(kind="spread", of="tcp", xs=[1.0, 2.0]), AT)
    assert along_x.estimate().mean == pytest.approx(4.0)
    assert along_x.label == "A, 1 less A, 2"
    (ratio,) = runs.evaluate(metric(kind="spread", of="tcp", show="ratio", variants=["B", "A"]), AT)
    assert ratio.estimate().mean == pytest.approx(11 / 7)
    assert ratio.label == "A, 1 over B, 1"
    with pytest.raises(NotRunError, match="no run along"):
        runs.evaluate(metric(kind="spread", of="tcp", xs=[1.0, 3.0]), AT)
    assert runs.unit(metric(kind="spread", of="tcp")) == "Mb/s"
    assert runs.unit(metric(kind="spread", of="tcp", show="ratio")) == ""


def test_what_goes_along_the_axis_by_itself_is_taken_once(runs: Runs) -> None:
    along = {"kind": "crossing", "of": "tcp", "at_least": 1.0}
    for fields in (
        {"kind": "step", "of": along, "variants": ["A", "B"]},
        {"kind": "ratio", "of": along, "over": along},
    ):
        check = Check.model_validate({"metric": fields, "band": {"min": 0}})
        assert len(places(runs, check, BASE)) == 1
    check = Check.model_validate(
        {"metric": {"kind": "spread", "of": "tcp", "variants": ["A", "B"]}, "band": {"min": 0}}
    )
    assert len(places(runs, check, BASE)) == 3


def test_formulae_take_numbers_of_the_variant_and_the_axis(runs: Runs) -> None:
    at = Coordinates(BASE, "A", 2.0)
    bound = metric(kind="dbl_identification_bound", input_rate_bps="rate", ratio="x", unit="ms")
    # 2 * 8 * (16384 + 13 * (1/0.333 - 1) * 1000) / (1 * 200e6): 3.39 ms.
    assert runs.evaluate_one(bound, at).samples[0] == pytest.approx(3.394, abs=1e-3)
    with pytest.raises(ExperimentError, match="there is no number `rate`"):
        runs.evaluate(bound, Coordinates(BASE, "B", 2.0))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "column", "column": "speed"}, "has no column `speed`; it has name, group"),
        ({"kind": "column", "column": "goodput_bps", "group": "udp"}, "no row of `flows` matches udp"),
        ({"kind": "series", "of": "queue", "name": "x", "quantity": "dbl", "reduce": "last"}, "no series queue x dbl"),
    ],
)
def test_what_is_not_there_is_named(runs: Runs, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        runs.evaluate(metric(**fields), AT)


def test_a_run_that_is_not_there_is_named(runs: Runs) -> None:
    with pytest.raises(ExperimentError, match="there is no run"):
        runs.evaluate("tcp", Coordinates(BASE, "A", 3.0))


# The DBL paper, section 5: 0.97 %, 4.7 % and 0.03 %, which it cuts, not rounds.
@pytest.mark.parametrize(
    ("buckets", "flows", "percent"),
    [(4096, 40, 0.9719), (4096, 200, 4.766), (524288, 200, 0.03814), (1, 1, 100), (1, 0, 0)],
)
def test_collision_formula(buckets: int, flows: int, percent: float) -> None:
    assert 100 * collision_probability(buckets, flows) == pytest.approx(percent, rel=1e-3)


def test_collisions_of_the_real_hash() -> None:
    share = collision_share(64, 10, 20_000, seed=1)
    expected = collision_probability(64, 10)
    assert abs(share - expected) < 4 * standard_error(expected, 20_000)


# The SFB paper, section III-C: 2.65 %, 8.96 %, 8.42 % and 16.12 %.
@pytest.mark.parametrize(
    ("levels", "bins", "offenders", "percent"),
    [(2, 23, 4, 2.654), (2, 23, 8, 8.955), (1, 46, 4, 8.416), (1, 46, 8, 16.12), (3, 23, 0, 0.0), (2, 1, 1, 100.0)],
)
def test_misclassification_formula(levels: int, bins: int, offenders: int, percent: float) -> None:
    probability = misclassification_probability(levels, bins, offenders)
    assert 100 * probability == pytest.approx(percent, rel=3e-4)


@pytest.mark.parametrize(("levels", "bins", "offenders"), [(1, 46, 8), (2, 23, 8), (3, 10, 5)])
def test_misclassification_of_the_real_hashes(levels: int, bins: int, offenders: int) -> None:
    share = misclassified_share(levels, bins, offenders, 50_000, seed=1)
    expected = misclassification_probability(levels, bins, offenders)
    assert abs(share - expected) < 4 * standard_error(expected, 50_000)


def test_one_level_is_best_from_about_half_the_bins() -> None:
    # For many bins the crossing is where u + u^2 = 1 with u = exp(-M / bins): M = 0.4812 bins.
    assert single_level_from(900) == 433
    assert (best_levels(900, 432), best_levels(900, 433)) == (2, 1)
    assert best_levels(90, 1) == 30


# The DBL paper, sections 3 and 5.1.
@pytest.mark.parametrize(
    ("quantity", "rounding", "value"),
    [
        ("dbl_bits_per_flow", "exact", 72),
        ("pointer_bits", "paper", 18e6),
        ("list_bits", "paper", 4.5e6),
        ("length_bits", "paper", 6.6e6),
        ("per_flow_total_bits", "paper", 29.1e6),
        ("per_flow_bits_per_flow", "paper", 227.34),
        ("per_flow_bits_per_flow", "exact", 232),
        ("exact_match_over_dbl", "exact", 7.118),
    ],
)
def test_cost_model(quantity: str, rounding: str, value: float) -> None:
    assert one(kind="dbl_cost", quantity=quantity, rounding=rounding) == pytest.approx(value, rel=1e-4)


def test_identification_bound_falls_towards_one_over_rate() -> None:
    bound = DblIdentificationBound(kind="dbl_identification_bound", input_rate_bps=1e9, ratio=2)
    at_two = bound.bound_s(1e9, 2)
    assert bound.bound_s(1e9, 10) < at_two
    assert bound.bound_s(2e9, 2) == pytest.approx(at_two / 2)


def test_a_value_of_one_seed_has_no_interval() -> None:
    assert Value("", np.array([1.0])).estimate().ci95 is None
