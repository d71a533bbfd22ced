"""The control loop around the set-point: open-loop transfer function, margins, and what is left after a cycle.

# What it does

Let N sources be held back by their limiters, with the same rate R/N each; the others send what they have, C - R in all.
With small letters for deviations from the set-point, and T = S/C for the time between two samples, the equations of the
model become

    dq/dt = a                        a: the sum of the deviations of the arrivals
    dq'/dt = (q - q') / T
    Fb = -q - W (q - q')
    da/dt = K Fb(t - τ)

where a message comes to a limiter R/(N S) times a second and changes it by G_i R_unit Fb, or by G_d (R/N) Fb. Summed
over the N limiters that makes

    K = G_i R_unit R / S     where Fb > 0, the queue asks for more
    K = G_d R² / (N S)       where Fb < 0, it asks for less

in 1/s². From q to Fb and back round the loop is open with the transfer function

    L(s) = K / s² · (1 + W s T / (1 + s T)) · exp(-s τ)

which is the same on both sides but for the gain. The two integrators, the sources' rates and the queue, take 180
degrees of phase; the derivative part gives some back, the delay takes it away again.

# Stability

|L| falls with frequency, so that there is one crossover ω with |L(jω)| = 1, and each side by itself is stable if

    τ ω < atan((1 + W) ω T) - atan(ω T)

For small gains that is τ < W T = W S / C: the delay must be shorter than W samples of the queue. The right side reaches
its most at ω T = 1/√(1 + W); for W = 2 that is 30 degrees, however the gains are set.

The sides take turns, twice in a cycle, and each shrinks or widens what the other hands it. So the verdict is taken from
the switched loop itself: it is solved from a small deviation, and `cycle_gain` is the ratio of successive peaks. Since
both sides are linear and change places where Fb is zero, it does not depend on the size of the deviation.

# Source

Derived here from `model.py`. Margins are defined as in any textbook of control: the phase that is missing to
-180 degrees at crossover; the factor by which the gain may grow; the delay that may be added.

# Where we differ

The slides take (dq/dt) T for the growth between samples, the case ω T << 1: the phase lead is then atan(W ω T), which
promises up to 90 degrees. Here it is what random samples give.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forebay.errors import InputError

from .model import FluidModel, State, Step

Transfer = Callable[[complex], complex]

# The range of angular frequencies that is searched, as multiples of the one given as typical, and points a decade.
_DECADES = 6
_POINTS = 400


@dataclass(frozen=True)
class Margins:
    """How far a loop is from instability."""

    crossover_rad_per_s: float
    """Crossover: the angular frequency at which the loop's gain is 1, in rad/s."""
    phase_margin_deg: float
    """Phase at crossover above -180 degrees; negative if the loop is unstable."""
    gain_margin: float
    """The factor by which the gain may grow: below 1 if the loop is unstable, 0 if no gain would be stable, and
    infinite if every gain would."""
    delay_margin_s: float
    """The delay in seconds that may be added; if negative, the delay to remove."""

    @property
    def stable(self) -> bool:
        """Whether the loop is stable."""
        return self.phase_margin_deg > 0.0


@dataclass(frozen=True)
class Loop:
    """The open loop of ECM on one side of the set-point."""

    gain: float
    """K, in 1/s²."""
    weight: float
    """W."""
    sample_s: float
    """T: seconds between two samples of the queue."""
    delays: tuple[tuple[float, float], ...]
    """τ of the sources in seconds, each with its share of the gain. The shares add up to 1."""

    def __call__(self, s: complex) -> complex:
        """L(s): the value of the transfer function."""
        lead = 1.0 + self.weight * s * self.sample_s / (1.0 + s * self.sample_s)
        delay = sum(part * cmath.exp(-s * delay_s) for delay_s, part in self.delays)
        return self.gain / s**2 * lead * delay

    @property
    def margins(self) -> Margins:
        """How far the loop is from instability."""
        # Where the gain of two bare integrators is 1; the lead moves that by a factor of 1 + W at most.
        return margins_of(self, math.sqrt(self.gain))

    @property
    def longest_delay_s(self) -> float:
        """The delay in seconds, the same for all sources, at which this side becomes unstable."""
        return replace(self, delays=((0.0, 1.0),)).margins.delay_margin_s


@dataclass(frozen=True)
class OperatingPoint:
    """The set-point while demands and service stay the same, and the loop around it."""

    from_s: float
    """Time at which this state begins first, in seconds."""
    to_s: float
    """Time at which it ends, in seconds."""
    service_bps: float
    """C: rate at which the queue is served, in bit/s."""
    limited: tuple[str, ...]
    """Names of the sources that are held back. The others have less to send than their share."""
    limited_count: int
    """N: the number of flows that these sources represent."""
    share_bps: float
    """Rate of each of these flows if they share equally, in bit/s."""
    increase: Loop
    """The loop where the queue asks for more."""
    decrease: Loop
    """The loop where the queue asks for less."""
    cycle_gain: float
    """Share of a small deviation that is left after a cycle: below 1 it dies out; 0 if it does not oscillate."""

    @property
    def stable(self) -> bool:
        """Whether small deviations die out."""
        return self.cycle_gain < 1.0

    def to_dict(self) -> dict[str, object]:
        """Return all of it as plain values, with None for what is infinite."""
        sides = {}
        for name, loop in (("increase", self.increase), ("decrease", self.decrease)):
            values = {"gain_per_s2": loop.gain, **asdict(loop.margins), "longest_delay_s": loop.longest_delay_s}
            sides[name] = {key: value if math.isfinite(value) else None for key, value in values.items()}
        names = ("from_s", "to_s", "service_bps", "limited_count", "share_bps", "cycle_gain", "stable")
        delay_s = sum(delay * part for delay, part in self.increase.delays)
        plain = {name: getattr(self, name) for name in names}
        return plain | {"sample_s": self.increase.sample_s, "delay_s": delay_s, "limited": list(self.limited), **sides}


def margins_of(loop: Transfer, typical_rad_per_s: float) -> Margins:
    """Return the margins of a loop whose gain falls with frequency, and whose phase begins between -270 and 90 degrees.

    The search covers a millionth to a million times the typical angular frequency.
    """
    exponents = np.linspace(-_DECADES, _DECADES, 2 * _DECADES * _POINTS + 1)
    omegas = typical_rad_per_s * 10.0**exponents
    values = np.array([loop(complex(0.0, omega)) for omega in omegas])
    # Far above crossover a delay turns the phase by more than half a turn between two points, which no unwrapping can
    # follow. Only the first crossing of -180 degrees is searched, and it is below.
    phases = np.unwrap(np.angle(values))
    if phases[0] > 0.5 * math.pi:
        phases -= 2.0 * math.pi
    crossover = _crossing(np.log(np.abs(values)), omegas, lambda omega: math.log(abs(loop(complex(0.0, omega)))))
    if crossover is None:
        message = f"the loop's gain is 1 nowhere within {_DECADES} decades of {typical_rad_per_s:g} rad/s"
        raise InputError(message)
    phase = _phase_at(loop, crossover, phases, omegas)
    critical = _crossing(phases + math.pi, omegas, lambda omega: _phase_at(loop, omega, phases, omegas) + math.pi)
    if critical is not None:
        gain_margin = 1.0 / abs(loop(complex(0.0, critical)))
    else:
        gain_margin = math.inf if phases[0] > -math.pi else 0.0
    margin = phase + math.pi
    return Margins(crossover, math.degrees(margin), gain_margin, margin / crossover)


def _crossing(
    values: NDArray[np.float64], omegas: NDArray[np.float64], exact: Callable[[float], float]
) -> float | None:
    """Where a function falls through zero for the first time, by bisection between two points of a grid."""
    falls = np.flatnonzero((values[:-1] > 0.0) & (values[1:] <= 0.0))
    if not falls.size:
        return None
    low, high = float(omegas[falls[0]]), float(omegas[falls[0] + 1])
    for _ in range(60):
        middle = math.sqrt(low * high)
        if exact(middle) > 0.0:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def _phase_at(loop: Transfer, omega: float, phases: NDArray[np.float64], omegas: NDArray[np.float64]) -> float:
    """Return the phase in radians, in the turn that the grid's phases are in there."""
    near = float(phases[min(int(np.searchsorted(omegas, omega)), len(omegas) - 1)])
    phase = cmath.phase(loop(complex(0.0, omega)))
    return phase + 2.0 * math.pi * round((near - phase) / (2.0 * math.pi))


def operating_points(model: FluidModel, duration_s: float) -> tuple[OperatingPoint, ...]:
    """Return one point for each state of demands and service in which the queue is congested, the first to occur first.

    Raises InputError if it never is.
    """
    steps = [*model.service, *(step for source in model.sources for step in source.demand)]
    times = sorted({0.0, *(step.from_s for step in steps if step.from_s < duration_s)})
    seen: set[tuple[float, ...]] = set()
    points = []
    for begin_s, end_s in pairwise([*times, duration_s]):
        service_bps = model.service_bps(begin_s)
        demands = [min(source.demand_bps(begin_s), model.ecm.line_rate_bps) for source in model.sources]
        asked_bps = sum(source.count * demand for source, demand in zip(model.sources, demands, strict=True))
        state = (service_bps, *demands)
        if asked_bps > service_bps and state not in seen:
            points.append(_point(model, demands, service_bps, (begin_s, end_s)))
        seen.add(state)
    if not points:
        message = "the queue is never congested: its link carries all that arrives"
        message += "\nhint: without congestion there is no loop to judge; name another queue, or raise the load"
        raise InputError(message)
    return tuple(points)


def _point(
    model: FluidModel, demands: list[float], service_bps: float, interval_s: tuple[float, float]
) -> OperatingPoint:
    ecm, capacity = model.ecm, service_bps / 8.0
    share_bps = _equal_share_bps(model, demands, service_bps)
    chosen = [demand > share_bps for demand in demands]
    limited = [source for source, is_limited in zip(model.sources, chosen, strict=True) if is_limited]
    count = sum(source.count for source in limited)
    share, sample_s = share_bps / 8.0, ecm.sample_bytes / capacity
    delays = tuple((source.delay_s, source.count / count) for source in limited)
    messages_per_s = count * share / ecm.sample_bytes
    increase = Loop(messages_per_s * ecm.increase_bps_per_byte / 8.0, ecm.weight, sample_s, delays)
    decrease = replace(increase, gain=messages_per_s * ecm.decrease_per_byte * share)
    # Limited sources have a backlog, so that they send what they may.
    sources = tuple(
        replace(source, demand=(Step(0.0, math.inf if is_limited else demand),))
        for source, demand, is_limited in zip(model.sources, demands, chosen, strict=True)
    )
    alone = replace(model, sources=sources, service=(Step(0.0, service_bps),))
    rates = tuple(share_bps if it else ecm.line_rate_bps for it in chosen)
    return OperatingPoint(
        from_s=interval_s[0],
        to_s=interval_s[1],
        service_bps=service_bps,
        limited=tuple(source.name for source in limited),
        limited_count=count,
        share_bps=share_bps,
        increase=increase,
        decrease=decrease,
        cycle_gain=_cycle_gain(alone, rates, increase, decrease),
    )


def _equal_share_bps(model: FluidModel, demands: list[float], service_bps: float) -> float:
    """Return the max-min share: the rest after sources with smaller demands, divided equally."""
    left, count = service_bps, sum(source.count for source in model.sources)
    for demand, source in sorted(zip(demands, model.sources, strict=True), key=lambda pair: pair[0]):
        if demand * count > left:
            break
        left -= demand * source.count
        count -= source.count
    share = left / count
    if share <= model.ecm.min_rate_bps:
        message = (
            f"{count} flows at the min rate of {model.ecm.min_rate_bps / 1e6:g} Mb/s are more than the queue can serve"
        )
        message += "\nhint: a lower min rate, or fewer flows"
        raise InputError(message)
    return share


# Measurement of a cycle: a deviation that begins with this part of the set-point, over this many cycles.
_SMALL = 1e-4
_CYCLES = 8
_LARGE = 0.05


def _cycle_gain(model: FluidModel, rates: tuple[float, ...], increase: Loop, decrease: Loop) -> float:
    """Return the ratio of successive peaks of a small deviation, solved with the model's own equations."""
    set_point = model.ecm.set_point_bytes
    # Half a cycle on each side, at about its crossover; without lead a turn takes 2π/√K.
    cycle_s = math.pi * (increase.gain**-0.5 + decrease.gain**-0.5)
    longest = max(delay for delay, _ in increase.delays)
    found = model.solve(_CYCLES * (cycle_s + 4.0 * longest), State((1.0 + _SMALL) * set_point, rates))
    deviation = found.queue_bytes / set_point - 1.0
    # A large deviation may be clipped, and carries no information.
    large = np.flatnonzero(np.abs(deviation) > _LARGE)
    if large.size:
        deviation = deviation[: large[0]]
    inner = deviation[1:-1]
    tops = inner[(inner > deviation[:-2]) & (inner >= deviation[2:]) & (inner > 1e-11)]
    # The first peaks also contain modes other than the slowest, which the start excites.
    tops = tops[1:] if len(tops) > 3 else tops
    if len(tops) >= 2:
        return float((tops[-1] / tops[0]) ** (1.0 / (len(tops) - 1)))
    # It grew too fast for two peaks to be seen, or died out without a swing.
    return _LARGE / _SMALL if large.size else 0.0
