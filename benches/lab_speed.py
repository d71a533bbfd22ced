"""Speed of the engine of the lab under V8, as in a browser, compared with that of `forebay run`.

Both run one after the other, so that a machine whose speed drifts slows both. Prints a JSON document.
"""

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import forebay as fb

HERE = Path(__file__).resolve().parent
ENGINE = HERE.parent / "lab" / "src" / "engine" / "wasm"
SECONDS = {"a": 100.0, "b": 100.0, "c": 5.0}
"""Simulated time: about 0.1 to 0.5 s of CPU time each."""
RUNS = 12
"""In one process. V8 optimises during the first ones, as in a page; the best one counts on both sides."""
ROUNDS = 3


def measured(scenario: str) -> dict[str, Any]:
    """Packet-hops a CPU second of both in millions: the medians of the best of each round."""
    path = HERE / "scenarios" / f"{scenario}.toml"
    duration = f"{SECONDS[scenario]:g} s"
    native, browser = [], []
    for _ in range(ROUNDS):
        engine, digest = in_v8(path, duration)
        shortened = fb.Scenario.load(path, {"duration": duration})
        results = [fb.run(shortened) for _ in range(RUNS)]
        if results[0].digest != digest:
            sys.exit(f"{scenario}: the engine of the lab gives another digest than `forebay run`: build both again")
        browser.append(max(engine))
        native.append(max(result.engine.packet_hops_per_cpu_s for result in results) / 1e6)
    return {"scenario": scenario, "native": statistics.median(native), "browser": statistics.median(browser)}


def in_v8(scenario: Path, duration: str) -> tuple[list[float], str]:
    """The speeds of runs in one process, and the digest of their results."""
    command = ["node", str(HERE / "lab_speed.mjs"), str(ENGINE), str(scenario), duration, str(RUNS)]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return printed["speeds"], printed["digest"]


if __name__ == "__main__":
    if shutil.which("node") is None or not (ENGINE / "forebay_wasm.js").exists():
        sys.exit("needs Node, and the engine of the lab: make lab")
    print(json.dumps({"browser": [measured(scenario) for scenario in SECONDS]}))
