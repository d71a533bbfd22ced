"""A small experiment and made-up outcomes for the tests of `forebay.experiment`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from forebay.experiment.coordinates import BASE, Coordinates
from forebay.experiment.schema import Experiment
from forebay.runs.outcome import Outcome, Series

SCENARIO: dict[str, Any] = {
    "duration": "10 s",
    "topology": {"star": {"bottleneck": {"rate": "100 Mbps"}}},
    "flows": [{"name": "tcp", "count": 2, "transport": "tcp"}, {"name": "bf", "count": 1}],
}

FILE: dict[str, Any] = {
    "id": "sample/one",
    "title": "A sample",
    "paper": "None",
    "where": "Table 1",
    "seeds": 2,
    "quick": {"seeds": 1, "set": {"duration": "1 s"}},
    "scenario": SCENARIO,
    "variants": [
        {"name": "A", "set": {"topology.star.bottleneck.queue": {"dbl": {}}}, "numbers": {"rate": 2e8}},
        {"name": "B", "set": {"topology.star.bottleneck.queue": "red"}},
    ],
    "vary": {"name": "n", "keys": ["flows.bf.count"], "values": [1, 2, 4], "quick": [1, 4]},
    "metrics": {
        "tcp": {"kind": "column", "group": "tcp", "column": "goodput_bps", "unit": "Mb/s"},
        "bf": {"kind": "column", "name": "bf", "column": "goodput_bps", "unit": "Mb/s"},
    },
    "tables": [
        {
            "title": "Goodput",
            "columns": [{"label": "tcp", "metric": "tcp"}, {"label": "bf", "metric": "bf"}],
            "paper": {"A": [10, "-"]},
        },
        {"title": "By n", "rows": "x", "columns": [{"label": "tcp", "metric": "tcp", "variant": "B"}]},
    ],
    "figures": [
        {"file": "lines", "title": "t", "kind": "lines", "y_label": "y", "lines": [{"metric": "tcp", "label": "tcp"}]},
        {"file": "bars", "title": "t", "kind": "bars", "y_label": "y", "table": "Goodput"},
        {
            "file": "series",
            "title": "t",
            "kind": "series",
            "y_label": "y",
            "series": [
                {"label": "dbl", "of": "queue", "name": "bottleneck", "quantity": "dbl"},
                {"label": "tcp", "of": "flow", "name": "", "group": "tcp", "quantity": "goodput_bps"},
            ],
            "levels": [{"label": "limit", "y": 3}],
        },
        {
            "file": "flows",
            "title": "t",
            "kind": "flows",
            "y_label": "y",
            "flows": [{"label": "tcp", "group": "tcp", "variant": "B", "x": 2}],
        },
        {
            "file": "histogram",
            "title": "t",
            "kind": "histogram",
            "y_label": "share",
            "x_range": [0, 10],
            "x_scale": 1e-6,
            "bin_width": 2.5,
            "flows": [{"label": "tcp", "group": "tcp"}],
        },
    ],
    "claims": [
        {
            "id": "sample/one-tcp",
            "where": "Table 1",
            "paper": "10",
            "band": ">= 5 Mb/s",
            "checks": [{"metric": "tcp", "variants": ["A"], "x": [1], "band": {"min": 5}}],
        }
    ],
}


def sample(**changes: Any) -> Experiment:
    """The sample experiment with some keys replaced."""
    return Experiment.model_validate({**copy.deepcopy(FILE), **changes})


def outcome(
    tcp: tuple[float, ...] = (10e6, 20e6), bf: float = 70e6, dbl: tuple[float, ...] = (5, 9, 7, 3, 1, 2)
) -> Outcome:
    """An outcome of two TCP flows and a belligerent one at a queue named `bottleneck`."""
    names = [*[f"tcp-{index}" for index in range(len(tcp))], "bf"]
    groups = ["tcp"] * len(tcp) + ["bf"]
    flows = {
        "name": np.array(names),
        "group": np.array(groups),
        "goodput_bps": np.array([*tcp, bf]),
        "start_s": np.arange(len(names)) * 0.5,
    }
    # Metrics are of data: the last row is of ACKs.
    queue_flows = {
        "queue": np.array(["bottleneck"] * (len(names) + 1)),
        "flow": np.array([*names, "tcp-0"]),
        "direction": np.array(["data"] * len(names) + ["acks"]),
        "packets_arrived": np.array([100] * len(names) + [10]),
        "packets_dropped": np.array([0] * len(tcp) + [25, 9]),
        "classified_at_s": np.array([np.nan] * len(tcp) + [2.0, 1.0]),
    }
    series = [Series("queue", "bottleneck", "dbl", 0.0, 0.5, np.array(dbl, dtype=np.float64))]
    series += [Series("flow", name, "goodput_bps", 0.0, 0.5, np.array([1.0, 2.0, 3.0, 4.0])) for name in names]
    queues = {"name": np.array(["A->B", "A->1"]), "paused_s": np.array([0.5, 0.0])}
    adapters = {"name": np.array(["1", "2"]), "paused_s": np.array([0.25, 0.75])}
    tables = {"flows": flows, "queues": queues, "links": {}, "queue_flows": queue_flows, "adapters": adapters}
    return Outcome(tables, series)


def every_outcome(
    experiment: Experiment, make: Callable[[str, float | None, int], Outcome], seeds: int = 2, quick: bool = False
) -> dict[Coordinates, list[Outcome]]:
    """Outcomes for all runs of an experiment's base setting, made by `make(variant, x, seed)`."""
    return {
        Coordinates(BASE, variant.name, point.x if point else None): [
            make(variant.name, point.x if point else None, seed) for seed in range(1, seeds + 1)
        ]
        for variant in experiment.variants_run(quick=quick)
        for point in experiment.points(quick, variant)
    }
