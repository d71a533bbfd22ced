"""Fair rates against their definitions, and against rates worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forebay import InputError
from forebay.fair_rates.rates import RoutedFlow, link_prices, max_min_rates, proportional_rates

GBPS = 1e9
LINKS = ("a", "b", "c", "d")

Problem = tuple[list[RoutedFlow], dict[str, float]]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Up to eight flows over up to four links; some capacities and demands are equal, so that limits meet."""
    capacities = {link: draw(st.sampled_from([1.0, 5.0, 10.0]) | st.floats(0.1, 40.0)) * GBPS for link in LINKS}
    flows = [
        RoutedFlow(
            tuple(draw(st.sets(st.sampled_from(LINKS), min_size=1).map(sorted))),
            draw(st.just(math.inf) | st.sampled_from([0.5 * GBPS, 5 * GBPS]) | st.floats(1e6, 4e10)),
            draw(st.just(1.0) | st.floats(0.2, 5.0)),
        )
        for _ in range(draw(st.integers(1, 8)))
    ]
    return flows, capacities


def loads(problem: Problem, rates: np.ndarray) -> dict[str, float]:
    flows, capacities = problem
    return {
        link: sum(float(rate) for flow, rate in zip(flows, rates, strict=True) if link in flow.path)
        for link in capacities
    }


def assert_feasible(problem: Problem, rates: np.ndarray) -> None:
    flows, capacities = problem
    assert (rates >= 0).all()
    assert all(rate <= flow.demand_bps * (1 + 1e-9) for flow, rate in zip(flows, rates, strict=True))
    assert all(load <= capacities[link] * (1 + 1e-9) for link, load in loads(problem, rates).items())


@given(problems())
def test_max_min_each_flow_has_its_demand_or_a_full_link_on_which_none_has_more(problem: Problem) -> None:
    flows, capacities = problem
    rates = max_min_rates(flows, capacities)
    assert_feasible(problem, rates)
    load = loads(problem, rates)
    levels = [rate / flow.weight for flow, rate in zip(flows, rates, strict=True)]
    for flow, rate, level in zip(flows, rates, levels, strict=True):
        bottlenecks = [
            link
            for link in flow.path
            if load[link] >= capacities[link] * (1 - 1e-9)
            and all(
                other <= level * (1 + 1e-9)
                for crossing, other in zip(flows, levels, strict=True)
                if link in crossing.path
            )
        ]
        assert rate >= flow.demand_bps * (1 - 1e-9) or bottlenecks


@given(problems(), st.data())
def test_proportional_no_feasible_rates_are_better_in_the_sum_of_relative_changes(
    problem: Problem, data: st.DataObject
) -> None:
    flows, capacities = problem
    rates = proportional_rates(flows, capacities)
    assert_feasible(problem, rates)
    wanted = np.array([data.draw(st.floats(0.0, 1.0)) * min(flow.demand_bps, 4e10) for flow in flows])
    # Scaled down to what is feasible, on the tightest link.
    load = loads(problem, wanted)
    other = wanted * min(1.0, *(capacities[link] / load[link] for link in capacities if load[link] > 0), 1.0)
    weights = np.array([flow.weight for flow in flows])
    assert float(np.sum(weights * (other - rates) / rates)) <= 1e-5 * float(weights.sum())


@given(problems())
def test_proportional_rates_and_prices_meet_the_conditions_of_karush_kuhn_and_tucker(problem: Problem) -> None:
    flows, capacities = problem
    rates, prices = proportional_rates(flows, capacities), link_prices(flows, capacities)
    load = loads(problem, rates)
    mean_weight = float(np.mean([flow.weight for flow in flows]))
    for link, capacity in capacities.items():
        assert prices[link] >= 0.0
        # A link with room is free: the cost of its room is negligible compared with the flows' weights.
        assert prices[link] * (capacity - load[link]) <= 1e-6 * mean_weight
    for flow, rate in zip(flows, rates, strict=True):
        # Weight / rate is the price of the path, and more only where the demand is met.
        surplus = flow.weight / rate - sum(prices[link] for link in flow.path)
        assert surplus * rate >= -1e-6 * flow.weight
        if math.isfinite(flow.demand_bps):
            assert surplus * (flow.demand_bps - rate) <= 1e-5 * mean_weight
        else:
            assert surplus * rate <= 1e-6 * flow.weight


@given(problems())
def test_on_one_link_both_are_the_same(problem: Problem) -> None:
    flows = [RoutedFlow(("a",), flow.demand_bps, flow.weight) for flow in problem[0]]
    capacities = {"a": problem[1]["a"]}
    assert max_min_rates(flows, capacities) == pytest.approx(proportional_rates(flows, capacities), rel=1e-5)


# On the way to this optimum a rate comes so near to a capacity that the difference is rounded to zero.
ROUNDED_TO_THE_BORDER: Problem = (
    [RoutedFlow(("a", "c")), RoutedFlow(("a",), weight=4.0), RoutedFlow(("a",), weight=0.375), RoutedFlow(("b",))],
    {"a": 5e9, "b": 1e9, "c": 1e9, "d": 1e9},
)


# The one flow of `b` alone starts an order of magnitude below its optimum: with residuals scaled by the rates of each
# point the method stopped where every step seemed to lead away.
FAR_FROM_THE_START: Problem = (
    [*[RoutedFlow(("a", "b"))] * 6, RoutedFlow(("b",))],
    {"a": 1e9, "b": 10e9, "c": 1e9, "d": 1e9},
)


@given(problems())
@example(ROUNDED_TO_THE_BORDER)
@example(FAR_FROM_THE_START)
def test_a_flow_of_weight_two_has_as_much_as_two_flows(problem: Problem) -> None:
    flows, capacities = problem
    first, *others = flows
    heavy = RoutedFlow(first.path, first.demand_bps, 2.0)
    half = RoutedFlow(first.path, first.demand_bps / 2, 1.0)
    for rates_of in (max_min_rates, proportional_rates):
        one = rates_of([heavy, *others], capacities)
        two = rates_of([half, half, *others], capacities)
        assert float(one[0]) == pytest.approx(float(two[0] + two[1]), rel=1e-5)


# E2CM slides, scenario 1: four culprits and a victim that shares an uplink with one of them.
def test_baseline_of_e2cm() -> None:
    culprits = [RoutedFlow(("up", "hot"), 5 * GBPS), *[RoutedFlow(("hot",), 5 * GBPS)] * 3]
    flows = [*culprits, RoutedFlow(("up", "cold"), 5 * GBPS)]
    capacities = dict.fromkeys(("up", "hot", "cold"), 10 * GBPS)
    for rates_of in (max_min_rates, proportional_rates):
        assert rates_of(flows, capacities) / GBPS == pytest.approx([2.5, 2.5, 2.5, 2.5, 5.0], rel=1e-6)


# Scenario 2: two mice of 0.5 Gb/s and three elephants, before and after the service rate is halved.
@pytest.mark.parametrize(("service", "elephant"), [(10.0, 3.0), (5.0, 4 / 3)])
def test_mice_and_elephants_of_e2cm(service: float, elephant: float) -> None:
    flows = [*[RoutedFlow(("hot",), 0.5 * GBPS)] * 2, *[RoutedFlow(("hot",), 20 / 3 * GBPS)] * 3]
    expected = [0.5, 0.5, elephant, elephant, elephant]
    for rates_of in (max_min_rates, proportional_rates):
        assert rates_of(flows, {"hot": service * GBPS}) / GBPS == pytest.approx(expected, rel=1e-6)


# Scenario 6: four flows over two links, one more on each of them.
def test_parking_lot_of_e2cm() -> None:
    flows = [*[RoutedFlow(("first", "second"))] * 4, RoutedFlow(("first",)), RoutedFlow(("second",))]
    capacities = {"first": 10 * GBPS, "second": 10 * GBPS}
    assert max_min_rates(flows, capacities) / GBPS == pytest.approx([2.0] * 6)
    assert proportional_rates(flows, capacities) / GBPS == pytest.approx([5 / 3] * 4 + [10 / 3] * 2, rel=1e-6)
    # Twice the weight for those that cross twice as many: proportional becomes max-min.
    weighted = [RoutedFlow(flow.path, weight=float(len(flow.path))) for flow in flows]
    assert proportional_rates(weighted, capacities) / GBPS == pytest.approx([2.0] * 6, rel=1e-6)
    # With 15 KB of each flow in the queues of its path, each of the two queues holds 45 KB: 36 us.
    in_queues = [RoutedFlow(flow.path, weight=15e3 * 8) for flow in flows]
    assert link_prices(in_queues, capacities) == pytest.approx({"first": 36e-6, "second": 36e-6}, rel=1e-6)


def test_flows_that_can_have_nothing() -> None:
    flows = [RoutedFlow(("closed", "open")), RoutedFlow(("open",)), RoutedFlow(("open",), 0.0), RoutedFlow((), 3.0)]
    capacities = {"closed": 0.0, "open": 1.0, "unused": 7.0}
    for rates_of in (max_min_rates, proportional_rates):
        assert rates_of(flows, capacities) == pytest.approx([0.0, 1.0, 0.0, 3.0])
    assert link_prices(flows, capacities) == pytest.approx({"closed": 0.0, "open": 1.0, "unused": 0.0})
    assert max_min_rates([], capacities).size == proportional_rates([], capacities).size == 0


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (RoutedFlow(("b",)), "the link `b` needs a capacity of at least 0, and none is given"),
        (RoutedFlow(("bad",)), "the link `bad` needs a capacity of at least 0, and it is -1 bit/s"),
        (RoutedFlow(("a",), -1.0), "flow 0: demand_bps must be at least 0, and is -1"),
        (RoutedFlow(("a",), math.nan), "flow 0: demand_bps must be at least 0, and is nan"),
        (RoutedFlow(("a",), weight=0.0), "flow 0: weight must be above 0, and is 0"),
        (RoutedFlow(()), "flow 0: nothing limits it"),
    ],
)
def test_what_is_wrong_is_named(flow: RoutedFlow, message: str) -> None:
    for rates_of in (max_min_rates, proportional_rates):
        with pytest.raises(InputError, match=message):
            rates_of([flow], {"a": 1.0, "bad": -1.0})
