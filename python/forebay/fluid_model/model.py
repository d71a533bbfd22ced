"""The fluid model: sources under ECM and the queue that they share, as delay differential equations.

# What it does

A frame that joins the queue is sampled with a fixed probability, so that samples come at a rate proportional to what
arrives: one in S bytes. Source i has the rate r_i as the queue sees it, arrivals a_i with the sum A, and a delay τ_i
from a sample to the changed rate's arrival at the queue. Expectations over the samples give:

    dq/dt   = A - C                               held between 0 and the limit: the saturated integrator
    dq'/dt  = (q - q') A / S                      q': the queue at the sample before
    Fb      = clip(Q_eq - q) - W clip(q - q')
    dr_i/dt = change(r_i, Fb(t - τ_i)) a_i(t - τ_i) / S     held between R_min and the line rate

A source sends what it has: a_i = r_i while it has a backlog, and otherwise no more than its demand.

# Source

The saturated integrator and the feedback are those of the E2CM proposal. Lu, Pan, Prabhakar and others analyse BCN by a
fluid model too (Congestion control in networks with no congestion drops, Allerton 2006). The equations here are derived
from the rules of the congestion point and the reaction point.

# Where we differ

- The slides put (dq/dt) / (μ p_s) for the growth between two samples. That is the case of slow change of the second
  equation. With random samples it is exact on average and needs no case of its own where the queue is empty or full.
- The noise of the samples is left out, and with it what noise does to a law that cuts harder than it adds: the queue of
  a packet simulation stays a little below the set-point.
- Delays are constants: nothing waits on the way but at this queue.

# How it is solved

It uses the trapezoidal rule at a fixed step that divides the shortest delay, so the necessary feedback is already
computed. Its error is of second order, and the relaxation of q' stays stable at any step.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forebay.errors import InputError

from .laws import EcmParameters

# Steps in the time between two samples of a queue in balance, at least.
_STEPS_OF_A_SAMPLE = 4
# More would take a minute.
_MOST_STEPS = 5_000_000


class Step(NamedTuple):
    """A rate, and the time from which on it holds."""

    from_s: float
    """Time in seconds."""
    rate_bps: float
    """Rate in bit/s."""


@dataclass(frozen=True)
class Source:
    """One or several flows that are alike."""

    name: str
    """Name of the source."""
    delay_s: float
    """τ: seconds from a sample at the queue to the arrival there of the first bit sent at the new rate."""
    count: int = 1
    """The number of flows."""
    demand: tuple[Step, ...] = (Step(0.0, math.inf),)
    """The rate that each flow must send; nothing before the first step."""
    most_backlog_bytes: float = math.inf
    """The most bytes that a flow keeps of what it may not send yet. More is lost at the source."""

    def __post_init__(self) -> None:
        if not (0.0 < self.delay_s < math.inf and self.count >= 1 and self.demand):
            message = f"source {self.name}: a delay above 0, a count of at least 1 and a demand are needed"
            raise InputError(message)

    def demand_bps(self, time_s: float) -> float:
        """Return the rate that a flow must send at this time, in bit/s."""
        return _value(self.demand, time_s)


@dataclass(frozen=True)
class State:
    """The state in which a solution starts."""

    queue_bytes: float
    """Length of the queue in bytes."""
    rates_bps: tuple[float, ...]
    """The limiter's rate of each source in bit/s. The line rate means no limiter."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A solution of the model, at equal steps of time.

    Arrays of rates have one row per `Source`, which holds the rate of one of its flows.
    """

    time_s: NDArray[np.float64] = field(repr=False)
    """Time in seconds."""
    queue_bytes: NDArray[np.float64] = field(repr=False)
    """Length of the queue in bytes."""
    feedback_bytes: NDArray[np.float64] = field(repr=False)
    """Feedback of a sample taken at that time, in bytes."""
    limits_bps: NDArray[np.float64] = field(repr=False)
    """Rates of the limiters in bit/s."""
    rates_bps: NDArray[np.float64] = field(repr=False)
    """Rates that arrive at the queue in bit/s."""

    @property
    def step_s(self) -> float:
        """Seconds between two points of the solution."""
        return float(self.time_s[1] - self.time_s[0])


@dataclass(frozen=True)
class FluidModel:
    """Sources under ECM and the queue that they share, as delay differential equations.

    The equations are derived from the rules of ECM's congestion point and reaction point. Lu, Pan, Prabhakar and others
    analyse BCN by a fluid model too (Congestion control in networks with no congestion drops, Allerton 2006).

    Raises:
        InputError: If there is no source, the service rate is not known from time 0 on, or the set-point is out of
            reach.

    """

    ecm: EcmParameters
    """The parameters of ECM."""
    sources: tuple[Source, ...]
    """The sources."""
    service: tuple[Step, ...]
    """C: the rate at which the queue is served, from time 0 on."""
    limit_bytes: float = math.inf
    """The most bytes that the queue holds. Beyond it, sources are held back by PAUSE, or lose frames that are not
    sampled."""

    def __post_init__(self) -> None:
        if not self.sources:
            message = "a fluid model needs a source"
            raise InputError(message)
        if not self.service or self.service[0].from_s > 0.0 or min(step.rate_bps for step in self.service) <= 0.0:
            message = "the queue's service rate must be known from time 0 on, and be above 0"
            raise InputError(message)
        if self.limit_bytes <= self.ecm.set_point_bytes:
            message = (
                f"the queue's set-point of {self.ecm.set_point_bytes:,.0f} B is out of reach: the queue holds "
                f"{self.limit_bytes:,.0f} B at most\nhint: more memory, or a lower set-point"
            )
            raise InputError(message)

    def service_bps(self, time_s: float) -> float:
        """Return C at this time, in bit/s."""
        return _value(self.service, time_s)

    @property
    def longest_step_s(self) -> float:
        """The longest step in seconds that a solution takes by default."""
        sample_s = 8.0 * self.ecm.sample_bytes / max(step.rate_bps for step in self.service)
        # All sources at line rate fill the queue to its set-point in no less than a step.
        filling_s = 8.0 * self.ecm.set_point_bytes / self.ecm.line_rate_bps / sum(it.count for it in self.sources)
        return min(sample_s / _STEPS_OF_A_SAMPLE, filling_s)

    def solve(self, duration_s: float, start: State | None = None, *, step_s: float | None = None) -> Trajectory:
        """Solve the equations from time 0 on.

        Before time 0 there was no feedback. Delays longer than the shortest are rounded to whole steps.

        Args:
            duration_s: How many seconds to solve for.
            start: The state at time 0. Default: an empty queue, and sources without limiters.
            step_s: The longest step in seconds. The step taken divides the shortest delay.

        Raises:
            InputError: If that takes too many steps.

        """
        shortest = min(source.delay_s for source in self.sources)
        step = shortest / math.ceil(shortest / min(step_s or self.longest_step_s, shortest))
        steps = math.ceil(duration_s / step)
        if steps > _MOST_STEPS:
            message = f"the fluid model needs {steps:,} steps of {step:.3g} s: too many to be solved here"
            message += "\nhint: a shorter duration will show as much: --set 'duration=500 ms'"
            raise InputError(message)
        return _Solver(self, step, steps, start).run()


def _value(steps: Sequence[Step], time_s: float) -> float:
    index = bisect_right(steps, time_s, key=lambda step: step.from_s)
    return steps[index - 1].rate_bps if index else 0.0


def _on_grid(steps: Sequence[Step], step_s: float, count: int) -> list[float]:
    """Return the rate at each step of the grid, in bytes a second: looked up once, not at each step."""
    values: list[float] = [0.0] * (count + 1)
    # Half a step of tolerance: a change that falls on a point of the grid counts from that point on.
    starts = [min(count + 1, max(0, math.ceil(step.from_s / step_s - 0.5))) for step in steps]
    for step, begin, end in zip(steps, starts, [*starts[1:], count + 1], strict=True):
        values[begin:end] = [step.rate_bps / 8.0] * max(0, end - begin)
    return values


class _Solver:
    """One solution, in bytes and seconds. Plain floats: a step depends on the one before, and sources are few."""

    def __init__(self, model: FluidModel, step_s: float, steps: int, start: State | None) -> None:
        self.ecm = model.ecm
        self.step_s = step_s
        self.steps = steps
        self.counts = [source.count for source in model.sources]
        self.lags = [max(1, round(source.delay_s / step_s)) for source in model.sources]
        self.demands = [_on_grid(source.demand, step_s, steps) for source in model.sources]
        self.most_backlogs = [source.most_backlog_bytes for source in model.sources]
        self.service = _on_grid(model.service, step_s, steps)
        self.limit = model.limit_bytes
        self.least_rate, self.line_rate = model.ecm.min_rate_bps / 8.0, model.ecm.line_rate_bps / 8.0
        rates = [self.line_rate] * len(self.counts) if start is None else [rate / 8.0 for rate in start.rates_bps]
        self.queue = 0.0 if start is None else start.queue_bytes
        # As if the last sample had been taken just now.
        self.previous = self.queue
        self.limits = [[rate] for rate in rates]
        self.backlogs = [0.0] * len(rates)
        self.arrivals: list[list[float]] = [[] for _ in rates]
        self.queues: list[float] = [self.queue]
        self.feedbacks: list[float] = []

    def run(self) -> Trajectory:
        total = self._arrive(0)
        self.feedbacks.append(self.ecm.feedback(self.queue, self.previous))
        for index in range(self.steps):
            for source in range(len(self.counts)):
                self._react(source, index)
            total = self._fill(index, total)
        return Trajectory(
            time_s=self.step_s * np.arange(self.steps + 1, dtype=np.float64),
            queue_bytes=np.array(self.queues),
            feedback_bytes=np.array(self.feedbacks),
            limits_bps=8.0 * np.array(self.limits),
            rates_bps=8.0 * np.array(self.arrivals),
        )

    def _react(self, source: int, index: int) -> None:
        """Append the limiter's rate after this step, from feedback on what arrived a delay ago."""
        rate = self.limits[source][index]
        past = index - self.lags[source]
        if past < 0:
            self.limits[source].append(rate)
            return
        first = self._slope(source, rate, past)
        guess = min(self.line_rate, max(self.least_rate, rate + self.step_s * first))
        then = self._slope(source, guess, past + 1)
        rate += 0.5 * self.step_s * (first + then)
        self.limits[source].append(min(self.line_rate, max(self.least_rate, rate)))

    def _slope(self, source: int, rate: float, past: int) -> float:
        samples = self.arrivals[source][past] / self.ecm.sample_bytes
        return samples * self.ecm.change_bps(8.0 * rate, self.feedbacks[past]) / 8.0

    def _arrive(self, index: int) -> float:
        """Append what arrives at the queue at a point of the grid; return the sum."""
        wanted = []
        for source, demands in enumerate(self.demands):
            demand = demands[index]
            available = demand + self.backlogs[source] / self.step_s
            wanted.append(min(self.limits[source][index], available, self.line_rate))
        total = sum(count * rate for count, rate in zip(self.counts, wanted, strict=True))
        service = self.service[index]
        most = service + (self.limit - self.queue) / self.step_s
        held_back = most / total if total > most else 1.0
        for source, rate in enumerate(wanted):
            taken = held_back * rate
            self.arrivals[source].append(taken)
            demand = self.demands[source][index]
            grown = self.backlogs[source] + self.step_s * (demand - taken) if demand < math.inf else math.inf
            self.backlogs[source] = min(self.most_backlogs[source], max(0.0, grown))
        return held_back * total

    def _fill(self, index: int, total: float) -> float:
        """Advance the queue by a step; return what arrives then."""
        after = self._arrive(index + 1)
        growth = 0.5 * (total + after - self.service[index] - self.service[index + 1])
        queue = min(self.limit, max(0.0, self.queue + self.step_s * growth))
        # Half the expected number of samples in this step.
        half = 0.25 * self.step_s * (total + after) / self.ecm.sample_bytes
        self.previous = (self.previous + half * (self.queue - self.previous + queue)) / (1.0 + half)
        self.queue = queue
        self.queues.append(queue)
        self.feedbacks.append(self.ecm.feedback(queue, self.previous))
        return after
