"""The engine of the lab, in a worker of a Chromium, gives the results of the command line.

It is read from the files of the page.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import forebay as fb
from conftest import Command
from forebay.lab import site
from lab_browser import NEEDS_LAB, ROOT, Lab, served

pytestmark = NEEDS_LAB

CAPTURE = ROOT / "examples/belligerent.pcap.gz"
SCENARIOS = [
    path
    for folder in ("examples", "examples/comparison", "benches/scenarios")
    for path in sorted(ROOT.glob(f"{folder}/*.toml"))
    if not path.name.endswith(".queues.toml")
]
TRACES = {f"traces/{path.name}": path for path in ROOT.glob("examples/traces/*.*") if path.suffix != ".md"}

# Sends one request to a new worker. Typed arrays come back as lists.
ASK = """
    const [worker, module, request, done] = arguments;
    if (request.base64) {
      request.capture = Uint8Array.from(atob(request.base64), (it) => it.charCodeAt(0));
      delete request.base64;
    }
    const engine = new Worker(worker, { type: 'module' });
    const end = (answer) => {
      engine.terminate();
      done(JSON.stringify(answer, (_, it) => ArrayBuffer.isView(it) ? Array.from(it) : it));
    };
    engine.onerror = (event) => end({ fault: event.message });
    engine.onmessage = ({ data }) => { if (!('progress' in data)) end(data); };
    WebAssembly.compileStreaming(fetch(module)).then((module) => {
      engine.postMessage({ module });
      engine.postMessage({ id: 1, request });
    }, (error) => end({ fault: String(error) }));
"""


class Engine:
    """Workers of a page of the lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        names = [
            name
            for pattern in ("worker-*.js", "forebay_wasm_bg-*.wasm")
            for name in lab.files
            if Path(name).match(pattern)
        ]
        self.worker, self.module = names
        lab.driver.set_script_timeout(300)
        lab.open()

    def ask(self, kind: str, **request: Any) -> Any:
        """Returns the answer to a request; a fault fails the test."""
        answer = json.loads(
            self.lab.driver.execute_async_script(ASK, self.worker, self.module, {"kind": kind, **request})
        )
        assert "done" in answer, answer
        return answer["done"]

    def choices(self) -> list[dict[str, Any]]:
        """The names that a scenario may choose."""
        (name,) = (name for name in self.lab.files if Path(name).match("choices-*.json"))
        found: list[dict[str, Any]] = json.loads(site.load()[name].content)
        return found


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with served() as address:
        lab = Lab(address)
        yield Engine(lab)
        lab.driver.quit()


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_scenario_has_the_digest_of_the_command_line(engine: Engine, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    files = {name: file.read_text(encoding="utf-8") for name, file in TRACES.items() if name in text}
    # The fabrics of the benchmarks take a minute and more in a browser.
    overrides = {"duration": "1 ms"} if "leaf_spine" in text and path.parent.name == "scenarios" else {}
    found = engine.ask("run", text=text, overrides=list(overrides.items()), files=files)
    expected = fb.run(path, overrides=overrides)
    assert found["digest"] == expected.digest
    assert found["engine"]["packet_hops"] == expected.to_dict()["engine"]["packet_hops"]


def test_a_run_has_the_tables_of_the_command_line(engine: Engine) -> None:
    path = ROOT / "examples/first.toml"
    overrides = [["topology.star.bottleneck.queue", "fq_codel"], ["duration", "3 s"]]
    found = engine.ask("run", text=path.read_text(encoding="utf-8"), overrides=overrides, files={})
    expected = fb.run(path, overrides=dict(overrides)).to_dict()
    for name in ("flows", "queues", "links"):
        assert_same(found[name], expected[name])
    assert expected["flows"]


def test_a_replay_equals_that_of_the_command_line(engine: Engine, forebay: Command) -> None:
    names = ["drop_tail", "dbl", "codel"]
    done = forebay("replay", CAPTURE, "--rate", "20Mbps", "--queues", ",".join(names), "--seed", "7", "--json")
    expected = json.loads(done.stdout)
    parameters = {
        it["name"]: [one["name"] for one in it["parameters"]] for it in engine.choices() if it["kind"] == "discipline"
    }
    queues = []
    for name in names:
        fitted = engine.ask("fitted", discipline=name, parameters=parameters[name], rate="20Mbps")
        queues.append({"label": name, "discipline": name, "parameters": [[key, str(value)] for key, value in fitted]})
    capture = base64.b64encode(CAPTURE.read_bytes()).decode()
    found = engine.ask("replay", base64=capture, options={"rate": "20Mbps", "queues": queues, "seed": 7})
    for key in ("rate_bps", "duration_s", "packets", "bytes", "packets_unselected", "packets_out_of_order"):
        assert found[key] == expected[key]
    assert_same(found["queues"], expected["queues"])
    assert_same(found["flows"], expected["flows"])
    assert len(expected["queues"]) == 3


def assert_same(found: dict[str, list[Any]], expected: list[dict[str, Any]]) -> None:
    """Compares a table as columns with one as rows, to the last bit. JSON has no NaN: it is null in both."""
    # The state of a discipline has pointers, which take half the memory in a browser.
    common = [name for name in expected[0] if name in found and name != "state_bytes"]
    assert len(common) >= 4
    for name in common:
        assert found[name] == [row[name] for row in expected], name
