"""Fair rates of flows that share links: max-min by water-filling, proportional fairness by an interior-point method.

Both maximise fairness over the rates x, with x_i <= demand of flow i and, on each link, the sum of the rates through it
<= its capacity. Weights generalise both: a flow of weight 2 counts as two flows on the same path.

Sources: Bertsekas and Gallager, Data Networks (1992), section 6.5.2 (max-min); Kelly, Maulloo and Tan, Rate control for
communication networks (1998), section 2 (proportional); Boyd and Vandenberghe, Convex Optimization (2004), section 11.7
(the primal-dual method).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.errors import InputError

Array = NDArray[np.float64]

# Parameters of the interior-point method (Boyd and Vandenberghe, section 11.7.3). They are the factor by which each
# step aims closer to the optimum, the part of the way to the border, and the factor that shortens a step that does not
# get closer.
_CENTRING = 20.0
_TO_THE_BORDER = 0.99
_SHORTENED = 0.5
_MOST_STEPS = 200
# Residual of the conditions of the optimum, for one flow of mean weight, when the method ends.
_PRECISION = 1e-12


@dataclass(frozen=True)
class RoutedFlow:
    """A flow and the links on its path.

    Example:
        >>> fb.RoutedFlow(("a", "b"), demand_bps=5e9)
        RoutedFlow(path=('a', 'b'), demand_bps=5000000000.0, weight=1.0)

    """

    path: tuple[str, ...]
    """Names of the links that the flow crosses."""
    demand_bps: float = math.inf
    """The most that the flow can use, in bit/s."""
    weight: float = 1.0
    """Weight of the flow relative to others, above 0."""


def max_min_rates(flows: Sequence[RoutedFlow], capacities_bps: Mapping[str, float]) -> Array:
    """Return the (weighted) max-min fair rate of each flow.

    All rates grow in proportion to the weights until a flow reaches its demand or a link is full; the flows of a full
    link then keep their rates. So no flow's rate per weight can grow except at the cost of a flow whose rate per weight
    is no higher. The method is water-filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).

    Args:
        flows: The flows.
        capacities_bps: Capacities of the links in bit/s, by name. Links that no flow crosses do not matter.

    Returns:
        The rates in bit/s, an array in the order of `flows`.

    Raises:
        InputError: If a link has no capacity, a number is out of range, or nothing limits a flow.

    Example:
        >>> flows = [fb.RoutedFlow(path) for path in (("a", "b"), ("a",), ("b",))]
        >>> fb.max_min_rates(flows, {"a": 10e9, "b": 10e9}).tolist()
        [5000000000.0, 5000000000.0, 5000000000.0]

    """
    uses, capacities, demands, weights = _checked(flows, capacities_bps)
    rates = np.zeros(len(flows))
    growing = demands > 0.0
    full = np.zeros(len(capacities), dtype=bool)
    while growing.any():
        left = capacities - uses @ np.where(growing, 0.0, rates)
        load = uses @ np.where(growing, weights, 0.0)
        # The level, in bits/s per weight, at which each link is full and each flow has its demand.
        of_links = np.divide(np.maximum(left, 0.0), load, out=np.full(len(load), np.inf), where=load > 0.0)
        of_flows = np.where(growing, demands / weights, np.inf)
        level = min(of_links.min(initial=np.inf), of_flows.min())
        # Rounding must not make one link of two that are full at once seem to have room.
        full |= of_links <= level * (1.0 + 1e-12)
        ends = growing & ((of_flows <= level) | (full.astype(np.float64) @ uses > 0.0))
        rates[ends] = np.minimum(weights * level, demands)[ends]
        growing &= ~ends
    return rates


def proportional_rates(flows: Sequence[RoutedFlow], capacities_bps: Mapping[str, float]) -> Array:
    """Return the (weighted) proportionally fair rate of each flow.

    The rates maximise the sum of weight x log(rate) (Kelly, Maulloo and Tan, Rate control for communication networks,
    1998). For any other feasible rates y, the sum of weight x (y - x)/x is at most zero. They are exact to about one
    part in a million. A flow across a link of capacity zero, or without demand, has the rate zero and does not count in
    the sum.

    Args:
        flows: The flows.
        capacities_bps: Capacities of the links in bit/s, by name. Links that no flow crosses do not matter.

    Returns:
        The rates in bit/s, an array in the order of `flows`.

    Raises:
        InputError: If a link has no capacity, a number is out of range, or nothing limits a flow.

    Example:
        >>> flows = [fb.RoutedFlow(path) for path in (("a", "b"), ("a",), ("b",))]
        >>> rates = fb.proportional_rates(flows, {"a": 10e9, "b": 10e9})
        >>> [round(float(rate) / 1e9, 3) for rate in rates]
        [3.333, 6.667, 6.667]

    """
    return _proportional(flows, capacities_bps)[0]


def link_prices(flows: Sequence[RoutedFlow], capacities_bps: Mapping[str, float]) -> dict[str, float]:
    """Return the price of each link at the proportionally fair rates: the Lagrange multiplier of its capacity.

    A flow below its demand has the rate weight / (sum of the prices on its path). A link with room to spare is free.
    With E2CM and TCP Vegas, each source keeps a fixed number of bits in the queues of its path. If the weights are
    these numbers, the price of a link is its queueing delay in seconds.

    Args:
        flows: The flows.
        capacities_bps: Capacities of the links in bit/s, by name.

    Returns:
        The prices in weight per bit/s, by the name of the link.

    Raises:
        InputError: If a link has no capacity, a number is out of range, or nothing limits a flow.

    Example:
        >>> flows = [fb.RoutedFlow(("a", "b")), fb.RoutedFlow(("a",))]
        >>> prices = fb.link_prices(flows, {"a": 10e9, "b": 10e9})
        >>> round(prices["a"] * 1e9, 3), round(prices["b"] * 1e9, 3)
        (0.2, 0.0)

    """
    return _proportional(flows, capacities_bps)[1]


def _checked(flows: Sequence[RoutedFlow], capacities_bps: Mapping[str, float]) -> tuple[Array, Array, Array, Array]:
    """Return which link (row) each flow (column) uses, the links' capacities, and the flows' demands and weights."""
    links = list(dict.fromkeys(link for flow in flows for link in flow.path))
    for link in links:
        capacity = capacities_bps.get(link)
        if capacity is None or not 0.0 <= capacity < math.inf:
            found = "none is given" if capacity is None else f"it is {capacity:g} bit/s"
            message = f"the link `{link}` needs a capacity of at least 0, and {found}"
            raise InputError(message)
    for index, flow in enumerate(flows):
        if not flow.demand_bps >= 0.0:
            message = f"flow {index}: demand_bps must be at least 0, and is {flow.demand_bps:g}"
            raise InputError(message)
        if not 0.0 < flow.weight < math.inf:
            message = f"flow {index}: weight must be above 0, and is {flow.weight:g}"
            raise InputError(message)
        if not flow.path and flow.demand_bps == math.inf:
            message = f"flow {index}: nothing limits it: give it a path, or a demand"
            raise InputError(message)
    uses = np.array([[float(link in flow.path) for flow in flows] for link in links]).reshape(len(links), len(flows))
    capacities = np.array([capacities_bps[link] for link in links], dtype=np.float64)
    demands = np.array([flow.demand_bps for flow in flows], dtype=np.float64)
    weights = np.array([flow.weight for flow in flows], dtype=np.float64)
    return uses, capacities, demands, weights


def _proportional(flows: Sequence[RoutedFlow], capacities_bps: Mapping[str, float]) -> tuple[Array, dict[str, float]]:
    uses, capacities, demands, weights = _checked(flows, capacities_bps)
    rates = np.zeros(len(flows))
    prices = dict.fromkeys(capacities_bps, 0.0)
    # A flow that cannot have any rate would make the sum of logarithms minus infinity.
    able = (demands > 0.0) & ~((capacities <= 0.0).astype(np.float64) @ uses > 0.0)
    if not able.any():
        return rates, prices
    used: NDArray[np.bool] = uses[:, able].sum(axis=1) > 0.0
    # In units of the largest number and the mean weight, so that the precision means the same whatever the units.
    finite = demands[able & np.isfinite(demands)]
    unit = max(capacities[used].max(initial=0.0), finite.max(initial=0.0))
    mean_weight = float(weights[able].mean())
    problem = _Problem(
        uses[np.ix_(used, able)], capacities[used] / unit, demands[able] / unit, weights[able] / mean_weight
    )
    solved, multipliers = problem.solve()
    rates[able] = solved * unit
    links = list(dict.fromkeys(link for flow in flows for link in flow.path))
    named = (link for link, crossed in zip(links, used, strict=True) if crossed)
    prices.update(zip(named, (multipliers * (mean_weight / unit)).tolist(), strict=True))
    return rates, prices


@dataclass(frozen=True)
class _Point:
    """Rates, and the multipliers of the links' capacities and of the demands."""

    rates: Array
    links: Array
    demands: Array


@dataclass(frozen=True)
class _Problem:
    """Maximise sum(weights log(rates)) with uses @ rates <= capacities and rates <= demands."""

    uses: Array
    capacities: Array
    demands: Array
    weights: Array

    def solve(self) -> tuple[Array, Array]:
        """Return the rates, and the multipliers of the capacities, by the primal-dual interior-point method."""
        # Half of an equal share on every link, or of the demand: strictly within all limits.
        shares = np.divide(self.capacities, self.uses.sum(axis=1))
        on_path = np.where(self.uses > 0.0, shares[:, None], np.inf).min(axis=0, initial=np.inf)
        rates = 0.5 * np.minimum(on_path, self.demands)
        point = _Point(rates, 1.0 / self._room(rates), 1.0 / (self.demands - rates))
        limits = len(self.capacities) + np.count_nonzero(np.isfinite(self.demands))
        for _ in range(_MOST_STEPS):
            # The surrogate duality gap (section 11.7.2) says how far the optimum is.
            gap = float(point.links @ self._room(point.rates) + point.demands @ self._spare(point.rates))
            dual = point.rates * self._dual_residual(point)
            if gap <= _PRECISION * limits and np.abs(dual).max() <= _PRECISION:
                break
            target = gap / limits / _CENTRING
            closer = self._towards(point, target)
            if closer is None:
                # Rounding allows no further step.
                break
            point = closer
        return point.rates, point.links

    def _room(self, rates: Array) -> Array:
        return self.capacities - self.uses @ rates

    def _spare(self, rates: Array) -> Array:
        """Demand less rate; where there is no limit its multiplier is zero, and so is its part in all sums."""
        return np.where(np.isfinite(self.demands), self.demands - rates, 1.0)

    def _dual_residual(self, point: _Point) -> Array:
        return point.links @ self.uses + point.demands - self.weights / point.rates

    def _distance(self, point: _Point, target: float, scale: Array) -> float:
        """Return the norm of what is left of the conditions of the optimum, with complementarity relaxed to `target`.

        `scale` weighs the dual residuals, so that those of slow flows and of fast ones count alike.
        """
        limited = np.isfinite(self.demands)
        residuals = (
            scale * self._dual_residual(point),
            point.links * self._room(point.rates) - target,
            (point.demands * self._spare(point.rates) - target)[limited],
        )
        return float(np.linalg.norm(np.concatenate(residuals)))

    def _towards(self, point: _Point, target: float) -> _Point | None:
        """Take a Newton step to the conditions with complementarity relaxed to `target`; None if none gets closer."""
        room, spare = self._room(point.rates), self._spare(point.rates)
        limited = np.isfinite(self.demands)
        if min(room.min(initial=np.inf), spare.min(initial=np.inf)) <= 0.0:
            # So near to the border that rounding says that it has been reached.
            return None
        short_links = target / room - point.links
        short_demands = np.where(limited, target / spare - point.demands, 0.0)
        per_link, per_demand = point.links / room, np.where(limited, point.demands / spare, 0.0)
        matrix = (self.uses.T * per_link) @ self.uses + np.diag(self.weights / point.rates**2 + per_demand)
        change = np.linalg.solve(matrix, -(self._dual_residual(point) + short_links @ self.uses + short_demands))
        of_links = short_links + per_link * (self.uses @ change)
        of_demands = short_demands + per_demand * change
        # All of these must stay above zero.
        values = np.concatenate((point.rates, point.links, point.demands[limited], room, spare[limited]))
        slopes = np.concatenate((change, of_links, of_demands[limited], -(self.uses @ change), -change[limited]))
        falling = slopes < 0.0
        step = min(1.0, _TO_THE_BORDER * float((-values[falling] / slopes[falling]).min(initial=np.inf)))
        # The same along the step: a Newton step is sure to shorten a fixed norm, not one that changes with the point.
        scale = point.rates
        before = self._distance(point, target, scale)
        while step > 1e-9:
            moved = _Point(
                point.rates + step * change, point.links + step * of_links, point.demands + step * of_demands
            )
            if self._distance(moved, target, scale) <= (1.0 - 0.01 * step) * before:
                return moved
            step *= _SHORTENED
        return None
