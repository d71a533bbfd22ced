"""The benchmark page: scaling scenarios, what is read from callgrind, and the page itself. No peer is needed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forebay as fb
import run
from forebay import _core
from performance import instructions, machine, page, results, simulators
from performance.callgrind import read_profile
from performance.goals import Goal
from performance.processes import ProcessFailedError, Usage, measure
from performance.results import Bench
from performance.samples import Run, Samples, Start
from performance.scaling import CURVES, Curve, measure_curve
from performance.simulators import cost_line, forebays
from performance.suite import SCENARIOS, speed_cell
from performance.tables import for_page, judged


def points() -> list[tuple[Curve, int]]:
    return [(curve, size) for curve in CURVES for size in {*curve.sizes, *curve.quick_sizes}]


@pytest.mark.parametrize(("curve", "size"), points(), ids=lambda it: it.name if isinstance(it, Curve) else str(it))
def test_scaling_scenarios_are_valid(curve: Curve, size: int) -> None:
    simulated_s = curve.simulated_s(size)
    scenario = fb.Scenario.from_toml(curve.scenario(size, simulated_s))
    assert scenario.name == f"{curve.name}-{size}"
    # As many packet-hops everywhere, but for sizes whose senders need longer to get going.
    hops = simulated_s * size * curve.hops_per_simulated_s
    assert simulated_s == curve.least_s or hops == pytest.approx(curve.hops, rel=0.05)


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_the_smallest_scaling_scenario_has_the_expected_load(curve: Curve) -> None:
    size = curve.quick_sizes[0]
    simulated_s = max(curve.simulated_s(size, quick=True), 3.0 if curve.name != "ports" else 1.5)
    result = fb.run(fb.Scenario.from_toml(curve.scenario(size, simulated_s)))
    assert result.engine.packet_hops == pytest.approx(size * curve.hops_per_simulated_s * simulated_s, rel=0.5)


def test_packets_in_flight_fill_the_bottleneck_without_loss() -> None:
    (curve,) = (curve for curve in CURVES if curve.name == "in-flight")
    result = fb.run(fb.Scenario.from_toml(curve.scenario(1000, 5.0)), overrides={"warmup": "2 s"})
    assert result.flows["packets_dropped"].sum() == 0
    (utilization,) = result.links.filter(result.links["name"] == "bottleneck")["utilization"]
    assert utilization > 0.9


def test_a_curve_is_measured_through_the_command(tmp_path: Path) -> None:
    (curve,) = (curve for curve in CURVES if curve.name == "flows")
    one_size = Curve(**(vars(curve) | {"quick_sizes": (10,)}))
    said: list[str] = []
    measured, failed = measure_curve(
        one_size, forebays()[:1], 1, tmp_path, quick=True, watch=machine.LoadWatch(), say=said.append
    )
    assert (failed, len(said)) == ([], 1)
    (samples,) = measured
    assert samples.runs[0].packet_hops > 100_000
    assert samples.mhops_per_cpu_s > samples.whole_process_mhops_per_cpu_s > 0
    assert samples.setup_wall_s > 0
    assert Samples.from_document(json.loads(json.dumps(samples.to_document()))) == samples


@pytest.mark.parametrize(("usage", "expected"), [("--seed N", [1]), ("--seed N\n--threads N", [1, 2])])
def test_threads_are_measured_where_the_command_takes_them(
    usage: str, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulators, "measure", lambda *_, **__: Usage(usage, 0.1, 0.1, 9.0))
    found = forebays()
    assert [it.threads for it in found] == expected
    commands = [" ".join(it.command(Path("c.toml"), "1 s")) for it in found]
    assert [command.endswith(f" --threads {it.threads}") for it, command in zip(found, commands, strict=True)] == [
        len(expected) > 1
    ] * len(expected)


def test_the_run_phase_of_a_peer_is_what_its_start_leaves() -> None:
    peer = Samples("c", "ns-2", 1, 10.0, starts=[Start(2.0, 2.5, 10.0), Start(4.0, 4.5, 10.0), Start(3.0, 3.5, 10.0)])
    peer.runs = [Run(10_000_000, None, cpu_s, cpu_s + 1, 90.0) for cpu_s in (13.0, 8.0, 23.0)]
    assert peer.speeds == [1.0, 2.0, 0.5]
    assert (peer.mhops_per_cpu_s, peer.ns_per_hop, peer.run_wall_s) == (1.0, 1000.0, 10.5)
    itself = Samples("c", "Forebay", 1, 10.0, starts=peer.starts, runs=[Run(1_000_000, 0.5, 4.0, 4.0, 30.0, 25.0)])
    assert (itself.mhops_per_cpu_s, itself.peak_mb, itself.run_peak_mb) == (2.0, 30.0, 25.0)


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(ProcessFailedError, match=r"^exit status 3: too bad$"):
        measure([sys.executable, "-c", "import sys; print('too bad', file=sys.stderr); sys.exit(3)"])
    with pytest.raises(ProcessFailedError, match=r"^stopped after 0\.1 s$"):
        measure(["sleep", "60"], timeout_s=0.1)
    with pytest.raises(ProcessFailedError, match="no line like"):
        cost_line("3 packet-hops in 1 s")


def test_a_stretch_that_is_missed_is_no_miss() -> None:
    stretch = Goal(20, least_mhops_per_cpu_s=15)
    cells = [speed_cell(speed, stretch) for speed in (14.0, 16.0, 21.0)]
    assert [cell.reached for cell in cells] == [False, True, True]
    assert [cell.goal for cell in cells[1:]] == ["≥ 15, not the stretch ≥ 20", "≥ 20"]
    assert [judged(value, 1, 4.0, at_least=False).reached for value in (3.9, 4.1)] == [True, False]


CALLGRIND = """# callgrind format
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir Dr D1mr D1mw ILmr DLmr DLmw Bcm Bim

ob=(1) /build/lib_core.so
fl=(1) /source/crates/engine/src/driver.rs
fn=(1) forebay_engine::driver::run
10 100 40 7 1
+2 50
fi=(2) /rustc/0123/library/core/src/slice/mod.rs
900 30 0 2
fi=(3) crates/tcp/src/sender/mod.rs
* 20
fi=(2)
+4 7
fe=(1)
-892 5
cfi=(4) /cargo/registry/src/index-0/prefetch-index-0.2.1/src/lib.rs
cfn=(2) prefetch_index::prefetch
calls=3 77
12 1000 1000 1000
13 1

fl=(4)
fn=(2)
77 60 0 0 0 0 4 0 8 1

ob=(2) /lib/x86_64-linux-gnu/libc.so.6
fl=(5) ???
fn=(3) memcpy
0 11
cob=(1)
cfi=(1)
cfn=(1)
calls=1 10
0 5000

ob=(3) /usr/bin/python3.11
fl=(5)
fn=(4) PyEval
0 9
totals: 293 40 9 1 0 4 0 8 1
"""


def test_callgrind_costs_are_counted_once_and_where_they_were_written() -> None:
    profile = read_profile(CALLGRIND.splitlines(keepends=True))
    assert {name: costs["Ir"] for name, costs in profile.modules.items()} == {
        # Rust's library inlined into the driver belongs to the driver.
        "engine/driver": 100 + 50 + 30 + 5 + 1,
        # The same within the sender, which was inlined itself.
        "tcp/sender/mod": 20 + 7,
        "prefetch-index (dependency)": 60,
        "C library": 11,
        "Python and others": 9,
    }
    # As callgrind says itself in its last line.
    events = ["Ir", "Dr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "Bcm", "Bim"]
    assert [profile.totals[event] for event in events] == [293, 40, 9, 1, 0, 4, 0, 8, 1]


def test_a_profile_is_the_difference_of_two_lengths() -> None:
    shorter = read_profile(CALLGRIND.splitlines())
    longer = read_profile(CALLGRIND.replace("\n77 60 ", "\n77 1060 ").splitlines())
    entry = instructions.difference((10, shorter), (110, longer))
    assert entry["packet_hops"] == 100
    assert entry["events"]["Ir"] == 1000
    assert entry["instructions_by_module"] == {"prefetch-index (dependency)": 1000}


@pytest.mark.parametrize("text", ["", "desc: nothing\n", "42 is no cost\n"])
def test_what_is_no_output_of_callgrind_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no output of callgrind"):
        read_profile(text.splitlines())


def test_what_valgrind_runs_loads_the_core_alone(tmp_path: Path) -> None:
    (curve,) = (curve for curve in CURVES if curve.name == "in-flight")
    path = tmp_path / "small.toml"
    path.write_text(curve.scenario(10, 100.0), encoding="utf-8")
    hops = []
    for duration in ("5 s", "10 s"):
        command = [sys.executable, "-S", str(instructions.CORE_RUN), str(_core.__file__), str(path), duration]
        hops.append(json.loads(measure(command).stdout)["packet_hops"])
    assert 0 < 1.9 * hops[0] < hops[1]


def test_what_is_profiled_is_asked_something() -> None:
    profiled = [scenario for scenario in SCENARIOS if scenario.profile_s is not None]
    assert [scenario.name for scenario in profiled] == ["a", "b", "c", "d", "e"]
    assert all(shorter < longer for shorter, longer in (it.profile_s for it in profiled if it.profile_s))


def samples_of(
    scenario: str, simulator: str, threads: int, mhops: float, wall_s: float, size: int = 0
) -> dict[str, Any]:
    run_cpu_s = 1.0 if simulator == "Forebay" else None
    runs = [Run(round(mhops * factor * 1e6), run_cpu_s, 1.5, 0.5 + wall_s, 60.0, 50.0) for factor in (0.9, 1.0, 1.1)]
    return Samples(scenario, simulator, threads, 10.0, size, [Start(0.5, 0.5, 40.0)] * 3, runs).to_document()


@pytest.fixture
def stored() -> dict[str, Any]:
    """Measurements of which each kind of goal is reached and missed."""
    suite = [
        samples_of("a", "Forebay", 1, 60.0, 4.0),
        samples_of("a", "ns-2", 1, 4.0, 4.0),
        samples_of("a", "ns-3.37", 1, 0.5, 4.0),
        samples_of("c", "Forebay", 1, 69.0, 4.0),
        samples_of("c", "Forebay", 2, 40.0, 2.5),
        samples_of("c", "ns-2", 1, 2.0, 4.0),
    ]
    flows = [samples_of(f"flows-{size}", "Forebay", 1, 30.0, 4.0, size) for size in (10, 1000, 100_000, 1_000_000)]
    flows += [samples_of(f"flows-{size}", "Forebay", 2, 30.0, 3.5, size) for size in (10, 1000, 100_000, 1_000_000)]
    ports = [samples_of(f"ports-{size}", "Forebay", 1, 30.0, 4.0, size) for size in (2, 4)]
    return {
        "date": "2026-01-02 03:04 UTC",
        "commit": "0123456789ab",
        "quick": False,
        "repeats": 3,
        "machine": {"processor": "Abacus 9", "cores": "2 of 2 usable"},
        "bare_python_mb": 9.0,
        "suite": suite,
        "scaling": {"flows": flows, "ports": ports},
        "parts": {
            "disciplines": [
                {"name": "dbl", "costs": [{"flows": 1000, "ns_per_packet": 61.0, "state_bytes": 2500}]},
            ],
            "schedulers": [{"name": "mwm", "load": "uniform", "costs": [{"ports": 32, "ns_per_slot": 19_000.0}]}],
            "guests": [{"name": "Threshold", "ns_per_packet": 250.0}],
            "sweep": [{"runs": 1000, "ms_per_bare_run": 40.0, "ratio": 1.03}],
        },
        "skipped": ["ns-3 on d: has no switch with a crossbar"],
        "load": {
            "load_before": 0.1,
            "load_median": 1.0,
            "load_highest": 1.25,
            "stolen_percent": 0.25,
            "minutes": 41.0,
        },
    }


def rows(text: str, beginning: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith(beginning)
    ]


def test_the_page_shows_medians_ratios_and_misses(stored: dict[str, Any]) -> None:
    text = page.text(Bench(stored), None, {})
    assert rows(text, "| a | Forebay")[0][3:5] == ["60.0 (≥ 55)", "54.0 to 66.0"]
    # ns-2 takes 1.5 s, of which half a second is its start.
    assert rows(text, "| a | ns-2")[0][3:] == ["4.000", "3.600 to 4.400", "2.667", "0.50 s", "15.0 times (≥ 14)"]
    assert rows(text, "| c | Forebay |")[0][3] == "**69.0 (missed: ≥ 70)**"
    assert rows(text, "| c | ns-2")[0][-1] == "**34.5 times (missed: ≥ 90)**"
    assert ["c", "2", "4.00 s", "2.50 s", "1.60 times (≥ 1.4)"] in rows(text, "| c | 2 ")
    assert rows(text, "| a | **51.0")[0][1:] == ["**51.0 (missed: ≤ 20)**", "60", "60", ""]
    assert rows(text, "| 100,000 |")[0][2] == "30.0 (≥ 20)"
    assert rows(text, "| 100,000 |")[0][-1] == "**1.14 times (missed: ≥ 1.4)**"
    assert rows(text, "| 1,000,000 |")[0][4:6] == ["0.50 (≤ 10)", "60 (≤ 4,000)"]
    assert "**61 (missed: ≤ 60)**" in text
    misses = len(re.findall(r"\*\*[^|*]*\(missed: ", text))
    goals = len(re.findall(r"\((?:missed: )?[≥≤] ", text))
    assert f"{misses} of {goals} goals are missed" in " ".join(text.split())
    assert "Abacus 9" in text
    assert "Remaining gaps to the goals" in text
    assert "1.25 at most" in text
    assert "- ns-3 on d: has no switch with a crossbar" in text
    assert "quick run" not in text


def test_the_page_is_drawn_alike_and_names_files_that_are_there(stored: dict[str, Any], tmp_path: Path) -> None:
    results.store(tmp_path, "bench", stored)
    path = page.write(tmp_path)
    pictures = sorted((tmp_path / "images").iterdir())
    first = [it.read_bytes() for it in (path, *pictures)]
    assert [it.name for it in pictures] == [f"performance-{name}.svg" for name in ("flows", "ports", "suite")]
    page.write(tmp_path)
    assert [it.read_bytes() for it in (path, *pictures)] == first
    targets = re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    assert len(targets) == 4
    assert [target for target in targets if not (tmp_path / target).exists()] == []


def test_a_profile_joins_the_page(stored: dict[str, Any], tmp_path: Path) -> None:
    entry = instructions.difference((0, read_profile(["events: Ir"])), (2, read_profile(CALLGRIND.splitlines())))
    profile: dict[str, Any] = {
        "date": "2026-01-03",
        "commit": "ba9876543210",
        "valgrind": "valgrind-3.19.0",
        "caches": {},
    }
    profile["scenarios"] = [{"scenario": "c", "simulated_s": [1, 2], **entry}]
    results.store(tmp_path, "profile", profile)
    results.store(tmp_path, "bench", stored | {"quick": True})
    kept = results.load(tmp_path)
    text = page.text(Bench(kept["bench"]), kept["profile"], {})
    assert rows(text, "| c | 146 ")[0] == ["c", "146 (≤ 180)", "5.00", "2.00", "4.50"]
    shares = rows(text, "| `")
    assert shares == [["`engine/driver`", "93.0"], ["`tcp/sender/mod`", "13.5"]]
    assert "ba9876543210" in text
    assert "quick run" in text


def test_a_measurement_of_one_part_has_a_page_too(stored: dict[str, Any]) -> None:
    alone = stored | {"suite": [], "scaling": {}, "parts": {"guests": stored["parts"]["guests"]}, "skipped": []}
    assert [for_page(table) for table in Bench(alone).tables()] == [
        "| class | ns a packet | millions a CPU second |\n|---|---:|---:|\n| Threshold | 250 | 4.0 (≥ 2) |"
    ]
    assert "## Scaling" not in page.text(Bench(alone), None, {})


@pytest.mark.parametrize(
    ("arguments", "spoil", "says"),
    [
        (["--page", "--docs", "."], None, "error: performance.json holds no results of a benchmark\nhint: "),
        (["--page", "--docs", "."], lambda it: it.write_text("{"), "error: performance.json is no JSON document: "),
        (["flow"], None, "there is no benchmark `flow`; there are a, b, c"),
        (["--repeats", "0"], None, "--repeats must be at least 1"),
        (["--peers", "ns4"], None, "there is no peer `ns4`; there are ns2 and ns3"),
    ],
    ids=["nothing stored", "spoilt", "no such benchmark", "no repeats", "no such peer"],
)
def test_a_wrong_call_is_answered(
    arguments: list[str],
    spoil: Callable[[Path], object] | None,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if spoil is not None:
        spoil(tmp_path / results.FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    try:
        status: object = run.main()
    except SystemExit as refused:
        status = refused.code
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert says in printed.err
