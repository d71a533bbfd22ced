"""Speed of the lab's engine in a worker of its page, in Chromium, compared with that of `forebay run`.

Both run one after the other, so that a machine whose speed drifts slows both. Prints a JSON document.
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import forebay as fb
import lab_page
from forebay.lab import site

HERE = Path(__file__).resolve().parent
SECONDS = {"a": 100.0, "b": 100.0, "c": 5.0}
"""Simulated time: about 0.1 to 0.5 s of CPU time each."""
RUNS = 12
"""In one worker. The browser optimises during the first ones; the best one counts on both sides."""
ROUNDS = 3

# Runs a scenario several times in a new worker of the page, whose files have these names.
SPEEDS = """
    const [files, text, duration, runs, done] = arguments;
    const engine = new Worker(files.worker, { type: 'module' });
    const speeds = [];
    const end = (answer) => { engine.terminate(); done(answer); };
    const ask = () => {
      const request = { kind: 'run', text, overrides: [['duration', duration]], files: {} };
      engine.postMessage({ id: speeds.length, request });
    };
    engine.onerror = (event) => end({ fault: event.message });
    engine.onmessage = ({ data }) => {
      if ('progress' in data) return;
      if (!('done' in data)) return end({ fault: JSON.stringify(data) });
      const { engine: meter, digest } = data.done;
      speeds.push(meter.packet_hops / meter.cpu_s / 1e6);
      if (speeds.length === runs) end({ speeds, digest }); else ask();
    };
    WebAssembly.compileStreaming(fetch(files.module)).then((module) => {
      engine.postMessage({ module });
      ask();
    }, (error) => end({ fault: String(error) }));
"""


def measured(page: Any, scenario: str) -> dict[str, Any]:
    """Packet-hops a CPU second of both in millions: the medians of the best of each round."""
    path = HERE / "scenarios" / f"{scenario}.toml"
    duration = f"{SECONDS[scenario]:g} s"
    names = {"worker": "worker-*.js", "module": "forebay_wasm_bg-*.wasm"}
    files = {key: next(name for name in site.load() if Path(name).match(names[key])) for key in names}
    native, browser = [], []
    for _ in range(ROUNDS):
        answer = page.execute_async_script(SPEEDS, files, path.read_text(encoding="utf-8"), duration, RUNS)
        if "fault" in answer:
            sys.exit(f"{scenario}: {answer['fault']}")
        shortened = fb.Scenario.load(path, {"duration": duration})
        results = [fb.run(shortened) for _ in range(RUNS)]
        if results[0].digest != answer["digest"]:
            sys.exit(f"{scenario}: the engine of the lab gives another digest than `forebay run`: build both again")
        browser.append(max(answer["speeds"]))
        native.append(max(result.engine.packet_hops_per_cpu_s for result in results) / 1e6)
    return {"scenario": scenario, "native": statistics.median(native), "browser": statistics.median(browser)}


def main() -> None:
    """Measures all scenarios in one browser."""
    with lab_page.opened() as (page, _):
        print(json.dumps({"browser": [measured(page, scenario) for scenario in SECONDS]}))


if __name__ == "__main__":
    main()
