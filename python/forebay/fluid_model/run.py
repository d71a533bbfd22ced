"""Judge whether ECM is stable in a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from forebay.result import Result
from forebay.runs.single import Progress
from forebay.runs.single import run as run_packets
from forebay.scenario import Scenario, scenario_of

from .hot_port import HotPort, hot_port
from .linear import operating_points
from .result import Packets, Stability

# The packet simulation is drawn in this many intervals, of a round number of microseconds.
_INTERVALS = 500


def judge_stability(
    scenario: Scenario | str | PathLike[str],
    *,
    queue: str | None = None,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    packets: bool = True,
    out: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Judge by a fluid model whether ECM holds a queue of a scenario at its set-point.

    The scenario needs `topology.ethernet` with ECM or E2CM. Of E2CM, the model takes the part that is ECM.

    Args:
        scenario: A scenario, or the path of a scenario file.
        queue: The queue to judge, by the name of its link. Default: that of the most overloaded port.
        overrides: Values of the scenario to replace, by the path of their key.
        seed: The seed of the packet simulation, in place of the scenario's own.
        packets: Whether to simulate the scenario as well, and draw it with the model.
        out: A folder for table and figure.
        progress: Called with the share of the packet simulation that is done, as by `run`.

    Returns:
        The margins of the control loop, the verdict, and how the queue moves over time.

    Raises:
        InputError: If the scenario has no ECM or no such queue, the queue is never congested, or the folder cannot be
            written.
        ScenarioError: If the scenario is not valid.

    Example:
        >>> ecm = {"topology.ethernet.congestion_management": "ecm"}
        >>> short = {"duration": "5 ms", "warmup": "0 s", **ecm}
        >>> judged = fb.judge_stability(
        ...     "examples/ethernet.toml", overrides=short, packets=False
        ... )
        >>> judged.queue, judged.stable
        ('SW2->6', True)

    """
    scenario = scenario_of(scenario, overrides)
    port = hot_port(scenario, queue)
    points = operating_points(port.model, scenario.duration_s)
    trajectory = port.model.solve(scenario.duration_s)
    judged = Stability(
        scenario=scenario.name,
        description=scenario.description,
        duration_s=scenario.duration_s,
        queue=port.queue,
        model=port.model,
        points=points,
        trajectory=trajectory,
        packets=_simulate(scenario, port, seed, progress) if packets else None,
        notes=port.notes,
        toml=scenario.to_toml(),
    )
    if out is not None:
        judged.save(out)
    return judged


def _simulate(scenario: Scenario, port: HotPort, seed: int | None, progress: Progress | None) -> Packets:
    interval_us = max(1, round(1e6 * scenario.duration_s / _INTERVALS))
    probes = {"probes.interval": f"{interval_us} us", "probes.series": ["queues", "flows"]}
    result = run_packets(scenario.override(probes), seed=seed, progress=progress)
    (queue,) = result.find_series("queue", port.queue, "length_mean_bytes")
    flows = [np.stack([_sent(result, name) for name in names]) for names in port.flows]
    return Packets(
        seed=result.seed,
        time_s=queue.time_s,
        queue_bytes=queue.values,
        rates_bps=np.stack([rates.mean(axis=0) for rates in flows]),
        slowest_bps=np.stack([rates.min(axis=0) for rates in flows]),
        fastest_bps=np.stack([rates.max(axis=0) for rates in flows]),
    )


def _sent(result: Result, name: str) -> NDArray[np.float64]:
    (series,) = result.find_series("flow", name, "sent_bps")
    return series.values
