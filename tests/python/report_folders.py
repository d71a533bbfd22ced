"""Folders of finished results that the tests of reports share."""

from __future__ import annotations

import json
from pathlib import Path

import forebay as fb
from conftest import SMALL
from forebay.sweeps.axes import Vary

HOSTILE = "<img src=x onerror=boom()>"
"""A name that a careless page would take for a piece of itself."""


def write_folders(root: Path) -> dict[str, Path]:
    """One folder of each kind, by its name."""
    small = fb.Scenario.from_toml(SMALL, "small.toml").override({"traces": []})
    fb.run(small, out=root / "plain")
    fb.run(small, overrides={"topology.star.bottleneck.queue": "red"}, out=root / "red")
    text = SMALL.replace('name = "bf"', f'name = "{HOSTILE}"').replace('["bf"]', "[]")
    fb.run(fb.Scenario.from_toml(text, "hostile.toml").override({"traces": []}), out=root / "hostile")
    short = small.override({"duration": "1500 ms", "warmup": "200 ms"})
    rates = ["5 Mbps", "10 Mbps", "20 Mbps"]
    vary: Vary = {"flows.tcp.count": [1, 2], "topology.star.bottleneck.rate": rates}
    fb.sweep(short, vary, queues="drop_tail,red", seeds=2, out=root / "sweep")
    fb.compare(short, ["drop_tail", "dbl", "red"], seeds=2).save(root / "compare")
    (root / "claims").mkdir()
    (root / "claims" / "claims.json").write_text(json.dumps({"experiments": [_experiment()]}), encoding="utf-8")
    return {path.name: path for path in root.iterdir()}


def _experiment() -> dict[str, object]:
    return {
        "id": "paper/table1",
        "title": "A table",
        "quick": True,
        "seeds": 3,
        "claims": [
            _claim("paper/fair", "reproduced", 0.98, ">= 0.9", near=False),
            _claim("paper/fast", "not reproduced", 7.5, ">= 8", near=True),
        ],
    }


def _claim(name: str, verdict: str, value: float, band: str, *, near: bool) -> dict[str, object]:
    holds = verdict == "reproduced"
    place = {"label": "DBL", "value": value, "ci95": 0.5, "holds": holds, "near_edge": near}
    values = [place | {"seeds_to_tell": 12 if near else None}]
    check = {"label": "", "value": value, "ci95": 0.5, "band": band, "unit": "Mb/s", "holds": holds, "values": values}
    return {
        "id": name,
        "where": "Table 1",
        "paper": "the paper's words",
        "band": band,
        "value": value,
        "ci95": 0.5,
        "verdict": verdict,
        "reason": None,
        "checks": [check],
    }
