"""The fluid model of ECM: its laws, its loop, its course, and what it takes from a scenario."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from conftest import Command
from forebay.fluid_model import (
    EcmParameters,
    FluidModel,
    Loop,
    OperatingPoint,
    Source,
    State,
    Step,
    margins_of,
    operating_points,
)
from forebay.fluid_model.hot_port import hot_port
from forebay.fluid_model.intervals import means

# The E2CM proposal's baseline: four culprits of 5 Gb/s meet at a port, a victim passes by.
SCENARIO = """
duration = "100 ms"

[topology.ethernet]
link = { rate = "10 Gbps", delay = "500 ns" }
congestion_management.ecm = { sampling.probability = 0.1 }
switch = { memory = "300 KB", pause = { high = "280 KB", low = "260 KB" } }
adapter = { egress_memory = "150 KB", pause = { high = "140 KB", low = "130 KB" } }
switches = [{ name = "SW1", nodes = ["1", "2"] }, { name = "SW2", nodes = ["3", "4", "5", "6", "7"] }]
trunks = [["SW1", "SW2"]]

[[flows]]
name = "culprit"
from = ["2", "3", "4", "5"]
to = "6"
transport.frames = { rate = "5 Gbps" }

[[flows]]
name = "victim"
from = "1"
to = "7"
transport.frames = { rate = "5 Gbps" }
"""


def from_text(text: str) -> fb.Scenario:
    """As much of a scenario as the model looks at."""
    return cast("fb.Scenario", SimpleNamespace(to_toml=lambda **_: text))


def model(
    delay_s: float = 5e-6, *, count: int = 4, service_bps: float = 10e9, sample_bytes: float = 75e3, **ecm: Any
) -> FluidModel:
    """Greedy sources at one port."""
    parameters = EcmParameters(sample_bytes=sample_bytes, **ecm)
    return FluidModel(parameters, (Source("all", delay_s, count),), (Step(0.0, service_bps),), count * 280e3)


def point(it: FluidModel) -> OperatingPoint:
    (only,) = operating_points(it, 1.0)
    return only


# --- the laws of one frame


@pytest.mark.parametrize(
    ("queue", "previous", "feedback"),
    [
        (75_000.0, 75_000.0, 0.0),
        (150_000.0, 0.0, -375_000.0),
        (0.0, 150_000.0, 375_000.0),
        (90_000.0, 80_000.0, -35_000.0),
        (280_001.0, 280_001.0, -375_000.0),
    ],
)
def test_feedback_is_that_of_the_slides(queue: float, previous: float, feedback: float) -> None:
    assert EcmParameters().feedback(queue, previous) == feedback


def test_saturated_feedback_halves_a_rate_or_adds_fifty_megabits() -> None:
    ecm = EcmParameters()
    most = ecm.strongest_feedback_bytes
    assert most == 375_000.0
    for rate_bps in (1e6, 2.5e9, 10e9):
        assert ecm.change_bps(rate_bps, -most) == pytest.approx(-0.5 * rate_bps)
        assert ecm.change_bps(rate_bps, most) == pytest.approx(50e6)
    assert ecm.change_bps(1e9, -35_000.0) == pytest.approx(-1e9 * (1 - 0.9533333333))
    # The gains as the slides print them: 1.333e-6 and 1.333e-4 R_unit, for each byte.
    assert ecm.decrease_per_byte == pytest.approx(4e-6 / 3)
    assert ecm.increase_bps_per_byte == pytest.approx(4e-4 / 3 * 1e6)


@given(queue=st.floats(0.0, 3e6), previous=st.floats(0.0, 3e6), rate_bps=st.floats(1e6, 1e10))
def test_no_message_does_more_than_the_strongest(queue: float, previous: float, rate_bps: float) -> None:
    ecm = EcmParameters()
    feedback = ecm.feedback(queue, previous)
    assert abs(feedback) <= ecm.strongest_feedback_bytes
    assert -0.5 * rate_bps * (1 + 1e-12) <= ecm.change_bps(rate_bps, feedback) <= 50e6 * (1 + 1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"decrease_gain": 1.0},
        {"increase_gain": 0.0},
        {"weight": -1.0},
        {"sample_bytes": 0.0},
        {"severe_threshold_bytes": 75_000.0},
        {"min_rate_bps": 10e9},
        {"set_point_bytes": math.nan},
    ],
)
def test_parameters_out_of_bounds_are_refused_by_name(wrong: dict[str, float]) -> None:
    (name,) = wrong
    with pytest.raises(fb.InputError, match=name):
        EcmParameters(**wrong)


# --- margins


def test_margins_of_an_integrator_with_delay_are_the_closed_form() -> None:
    gain, delay = 2000.0, 1e-4
    found = margins_of(lambda s: gain / s * np.exp(-s * delay), gain)
    assert found.crossover_rad_per_s == pytest.approx(gain, rel=1e-9)
    assert found.phase_margin_deg == pytest.approx(90.0 - math.degrees(gain * delay), rel=1e-9)
    assert found.gain_margin == pytest.approx(math.pi / (2 * gain * delay), rel=1e-9)
    assert found.delay_margin_s == pytest.approx(math.pi / (2 * gain) - delay, rel=1e-9)


def test_without_delay_any_gain_will_do_and_without_lead_none() -> None:
    lead = Loop(1e6, 2.0, 1e-4, ((0.0, 1.0),)).margins
    assert lead.stable
    assert lead.gain_margin == math.inf
    late = Loop(1e6, 2.0, 1e-4, ((5e-4, 1.0),)).margins
    assert not late.stable
    assert late.gain_margin == 0.0
    assert late.delay_margin_s < 0.0


def test_a_gain_raised_by_its_margin_is_at_the_border() -> None:
    loop = Loop(2e6, 2.0, 6e-5, ((2e-5, 0.5), (3e-5, 0.5)))
    raised = Loop(loop.gain * loop.margins.gain_margin, 2.0, 6e-5, loop.delays)
    assert abs(raised.margins.phase_margin_deg) < 1e-6


@given(
    gain=st.floats(1e3, 1e9),
    weight=st.floats(0.1, 10.0),
    sample_s=st.floats(1e-6, 1e-3),
    delay_s=st.floats(1e-6, 1e-3),
)
@settings(max_examples=40, deadline=None)
def test_crossover_and_phase_margin_are_the_closed_form(
    gain: float, weight: float, sample_s: float, delay_s: float
) -> None:
    margins = Loop(gain, weight, sample_s, ((delay_s, 1.0),)).margins
    # |L| = 1 is a cubic in ω²: ω⁴ (1 + ω²T²) = K² (1 + (1 + W)² ω²T²).
    lead = (1.0 + weight) * sample_s
    roots = np.roots([sample_s**2, 1.0, -((gain * lead) ** 2), -(gain**2)])
    (crossover,) = [math.sqrt(root.real) for root in roots if abs(root.imag) < 1e-6 * abs(root) and root.real > 0]
    phase = math.atan(lead * crossover) - math.atan(sample_s * crossover) - crossover * delay_s
    assert margins.crossover_rad_per_s == pytest.approx(crossover, rel=1e-6)
    assert margins.phase_margin_deg == pytest.approx(math.degrees(phase), rel=1e-5, abs=1e-6)


def test_the_loop_is_the_model_linearised() -> None:
    it = point(model())
    # K = G_i R_unit C / S and G_d C² / (N S), in bytes and seconds; T = S / C.
    ecm, capacity = EcmParameters(), 1.25e9
    assert it.share_bps == pytest.approx(2.5e9)
    assert it.increase.sample_s == pytest.approx(60e-6)
    assert it.increase.gain == pytest.approx(ecm.increase_bps_per_byte / 8 * capacity / 75e3)
    assert it.decrease.gain == pytest.approx(ecm.decrease_per_byte * capacity**2 / (4 * 75e3))


def test_for_small_gains_the_delay_must_be_shorter_than_weight_samples() -> None:
    for weight in (1.0, 2.0, 4.0):
        loop = Loop(1e3, weight, 60e-6, ((5e-6, 1.0),))
        assert loop.longest_delay_s == pytest.approx(weight * 60e-6, rel=1e-3)


# --- the verdict against the course


@pytest.mark.parametrize(("sample_bytes", "service_bps"), [(75e3, 10e9), (15e3, 10e9), (15e3, 2e9)])
def test_the_equations_turn_unstable_at_the_predicted_delay(sample_bytes: float, service_bps: float) -> None:
    """A symmetric law: both sides have the same gain, so that the margin of either is that of the loop."""
    count = 4
    share = service_bps / count
    # G_d (R/N) = G_i R_unit.
    increase_gain = 0.5 * share / 10e9
    limit = point(model(count=count, service_bps=service_bps, sample_bytes=sample_bytes, increase_gain=increase_gain))
    assert limit.increase.gain == pytest.approx(limit.decrease.gain)
    predicted = limit.increase.longest_delay_s

    def cycle_gain(delay_s: float) -> float:
        it = model(
            delay_s, count=count, service_bps=service_bps, sample_bytes=sample_bytes, increase_gain=increase_gain
        )
        return point(it).cycle_gain

    assert cycle_gain(0.97 * predicted) < 1.0 < cycle_gain(1.03 * predicted)


@given(
    delay=st.floats(0.05, 2.0),
    count=st.integers(2, 9),
    sample_bytes=st.sampled_from([15e3, 75e3]),
    increase_gain=st.floats(0.002, 0.25),
)
@settings(max_examples=25, deadline=None)
def test_two_stable_sides_make_a_stable_loop_and_two_unstable_an_unstable(
    delay: float, count: int, sample_bytes: float, increase_gain: float
) -> None:
    first = point(model(count=count, sample_bytes=sample_bytes, increase_gain=increase_gain))
    delay_s = delay * first.decrease.longest_delay_s
    it = point(model(delay_s, count=count, sample_bytes=sample_bytes, increase_gain=increase_gain))
    phases = [side.margins.phase_margin_deg for side in (it.increase, it.decrease)]
    if min(phases) > 0.5:
        assert it.stable
    if max(phases) < -0.5:
        assert not it.stable


def test_a_loop_that_runs_away_within_a_cycle_is_no_stable_one() -> None:
    gains = [point(model(delay_s, sample_bytes=15e3)).cycle_gain for delay_s in (1e-4, 1e-3, 1e-2, 1e-1)]
    assert gains[0] > 1.5
    assert min(gains[1:]) > 10.0


def test_the_queue_settles_at_its_set_point_and_rates_at_the_share() -> None:
    for sample_bytes in (15e3, 75e3):
        course = model(sample_bytes=sample_bytes).solve(0.3)
        assert course.queue_bytes[-1] == pytest.approx(75e3, rel=1e-3)
        assert course.rates_bps[0, -1] == pytest.approx(2.5e9, rel=1e-3)


def test_the_set_point_is_a_fixed_point_for_any_split_of_rates() -> None:
    """Nothing in ECM makes rates equal but the way there (switch and sources know no share)."""
    sources = tuple(Source(f"{share}", 5e-6) for share in (1, 3, 6))
    it = FluidModel(EcmParameters(), sources, (Step(0.0, 10e9),), 840e3)
    course = it.solve(0.02, State(75e3, (1e9, 3e9, 6e9)))
    assert np.allclose(course.queue_bytes, 75e3)
    assert np.allclose(course.rates_bps[:, -1], (1e9, 3e9, 6e9))


def test_an_unstable_loop_ends_in_a_swing_between_bounds() -> None:
    course = model(3e-4, sample_bytes=15e3).solve(0.3)
    late = course.queue_bytes[len(course.queue_bytes) // 2 :]
    assert late.min() == 0.0
    assert late.max() > 1.5 * 75e3
    assert not point(model(3e-4, sample_bytes=15e3)).stable


@given(
    delay_s=st.floats(2e-6, 4e-4),
    service_bps=st.floats(0.5e9, 10e9),
    demand_bps=st.floats(0.2e9, 10e9),
    sample_bytes=st.sampled_from([15e3, 75e3]),
)
@settings(max_examples=25, deadline=None)
def test_the_course_stays_within_its_bounds(
    delay_s: float, service_bps: float, demand_bps: float, sample_bytes: float
) -> None:
    source = Source("all", delay_s, 4, (Step(0.001, demand_bps), Step(0.008, 0.0)))
    it = FluidModel(EcmParameters(sample_bytes=sample_bytes), (source,), (Step(0.0, service_bps),), 300e3)
    course = it.solve(0.01)
    assert course.queue_bytes.min() >= 0.0
    assert course.queue_bytes.max() <= 300e3
    assert course.limits_bps.min() >= 1e6 * (1 - 1e-12)
    assert course.limits_bps.max() <= 10e9 * (1 + 1e-12)
    # Arrivals equal departures plus waiting data: no more than the port can carry, no less than nothing.
    came = 4 * float(means(course.time_s, course.rates_bps[0], course.time_s[-1:])[0]) / 8 * course.time_s[-1]
    slack = service_bps / 8 * 3 * course.step_s
    assert came <= service_bps / 8 * course.time_s[-1] + course.queue_bytes[-1] + slack
    assert course.rates_bps[0][course.time_s < 0.0009].max() == 0.0


def test_a_backlog_is_sent_when_it_may_be() -> None:
    """A source that was held back sends more than its demand afterwards, unless it kept nothing."""
    step = (Step(0.0, 2.5e9), Step(0.01, 10e9))
    for most, expected in ((math.inf, 1.0), (0.0, 0.0)):
        source = Source("one", 5e-6, demand=(Step(0.0, 5e9), Step(0.01, 1e9)), most_backlog_bytes=most)
        it = FluidModel(EcmParameters(increase_gain=0.25, sample_bytes=15e3), (source,), step, 280e3)
        course = it.solve(0.011)
        more = float(course.rates_bps[0][course.time_s > 0.0101].max()) > 1.01e9
        assert more == bool(expected)


def test_states_of_demand_and_service_are_judged_one_by_one() -> None:
    sources = (
        Source("elephant", 5e-6, 3, (Step(0.0, 6e9),)),
        Source("mouse", 5e-6, 2, (Step(0.0, 0.5e9),)),
    )
    it = FluidModel(EcmParameters(), sources, (Step(0.0, 10e9), Step(0.1, 5e9), Step(0.2, 20e9)), 840e3)
    full, half = operating_points(it, 0.3)
    assert full.share_bps == pytest.approx(3e9)
    assert half.share_bps == pytest.approx(4e9 / 3)
    assert full.limited == half.limited == ("elephant",)
    assert full.limited_count == 3
    # The mice send through the queue too: it is sampled as often as if all were limited.
    assert half.increase.sample_s == pytest.approx(8 * 75e3 / 5e9)
    assert full.increase.gain == pytest.approx(9e9 / 8 / 75e3 * EcmParameters().increase_bps_per_byte / 8)


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(fb.InputError, match="never congested"):
        operating_points(model(service_bps=50e9), 1.0)
    with pytest.raises(fb.InputError, match="min rate"):
        operating_points(model(service_bps=3e6), 1.0)
    with pytest.raises(fb.InputError, match="set-point"):
        FluidModel(EcmParameters(), (Source("all", 5e-6),), (Step(0.0, 10e9),), 70e3)
    with pytest.raises(fb.InputError, match="too many"):
        model(1e-9).solve(10.0)
    with pytest.raises(fb.InputError, match="delay"):
        Source("all", 0.0)


def test_means_keep_the_integral() -> None:
    time_s = np.linspace(0.0, 1.0, 101)
    found = means(time_s, time_s, np.array([0.25, 0.5, 0.75, 1.0]))
    assert np.allclose(found, [0.125, 0.375, 0.625, 0.875])


# --- the model's input from a scenario


def test_the_hot_port_of_the_baseline() -> None:
    port = hot_port(from_text(SCENARIO))
    assert port.queue == "SW2->6"
    far, near = port.model.sources
    assert (far.name, far.count) == ("culprit from 2", 1)
    assert (near.name, near.count) == ("culprit from 3, 4, 5", 3)
    # 1564 B of message and frame, and 1 µs of propagation, for each link to the port and back.
    one = 1564 * 8 / 10e9 + 1e-6
    assert far.delay_s == pytest.approx(2 * one)
    assert near.delay_s == pytest.approx(one)
    assert port.flows == (("culprit-2-6",), ("culprit-3-6", "culprit-4-6", "culprit-5-6"))
    assert port.model.ecm == EcmParameters(sample_bytes=15e3)
    # The trunk, and the links of three nodes.
    assert port.model.limit_bytes == pytest.approx(4 * 280e3)
    assert port.notes == ()


def test_parameters_service_and_demand_are_the_scenarios() -> None:
    text = SCENARIO.replace(
        "congestion_management.ecm = { sampling.probability = 0.1 }",
        'congestion_management.e2cm = { ecm = { set_point = "50 KB", weight = 4.0, increase_gain = 0.1, '
        'sampling.interval = { bytes = "15 KB" }, severe_message = "none", min_rate = "10 Mbps" } }\n'
        'service = [{ node = "6", rate = "1 Gbps", from = "10 ms", to = "20 ms" }]',
    ).replace(
        'to = "6"\ntransport.frames = { rate = "5 Gbps" }',
        'to = "6"\nstart = "2 ms"\ntransport.frames = { rate = "5 Gbps", on_off = { period = "20 ms", duty = 0.5 } }',
    )
    port = hot_port(from_text(text))
    assert port.model.ecm == EcmParameters(
        set_point_bytes=50e3,
        weight=4.0,
        increase_gain=0.1,
        sample_bytes=15e3,
        severe_threshold_bytes=None,
        min_rate_bps=10e6,
    )
    service, demand = (
        [(round(step.from_s, 9), step.rate_bps) for step in steps]
        for steps in (port.model.service, port.model.sources[0].demand)
    )
    assert service == [(0.0, 10e9), (0.01, 1e9), (0.02, 10e9)]
    assert demand[:4] == [(0.0, 0.0), (0.002, 5e9), (0.012, 0.0), (0.022, 5e9)]
    assert "probes" in port.notes[0]


def test_a_queue_can_be_named() -> None:
    port = hot_port(from_text(SCENARIO), "SW1->SW2")
    assert port.queue == "SW1->SW2"
    assert [source.name for source in port.model.sources] == ["culprit", "victim"]
    for wrong, expected in (("6->SW2", "leaves a switch"), ("SW9->6", "no such link")):
        with pytest.raises(fb.InputError, match=expected):
            hot_port(from_text(SCENARIO), wrong)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [('congestion_management = "qcn"', "by qcn"), ("", "no congestion management")],
)
def test_without_ecm_there_is_no_model(scheme: str, expected: str) -> None:
    with pytest.raises(fb.InputError, match=expected):
        hot_port(from_text(SCENARIO.replace("congestion_management.ecm = { sampling.probability = 0.1 }", scheme)))


def test_another_topology_is_refused(small: fb.Scenario) -> None:
    with pytest.raises(fb.InputError, match=r"topology\.star"):
        fb.judge_stability(small)


# --- the whole, with the packet simulation


@pytest.fixture(scope="module")
def judged() -> fb.Stability:
    return fb.judge_stability(fb.Scenario.from_toml(SCENARIO, "baseline.toml"))


def test_model_and_packets_agree_where_the_queue_settles(judged: fb.Stability) -> None:
    assert judged.stable
    assert judged.packets is not None
    fluid, packets = judged.fluid_course, judged.packet_course
    assert packets is not None
    assert fluid.mean_bytes == pytest.approx(75e3, rel=0.05)
    # Noise and a law that cuts harder than it adds keep the queue of packets below.
    assert 0.7 * 75e3 < packets.mean_bytes < 1.05 * 75e3
    last = judged.packets.time_s > 0.075
    total = 1 * judged.packets.rates_bps[0, last].mean() + 3 * judged.packets.rates_bps[1, last].mean()
    assert total == pytest.approx(10e9, rel=0.03)


def test_packets_swing_where_the_model_does() -> None:
    # Frames that are delayed come after PAUSE: they need more headroom.
    slow = {"topology.ethernet.switch.forwarding_delay": "50 us", "topology.ethernet.switch.memory": "400 KB"}
    it = fb.judge_stability(fb.Scenario.from_toml(SCENARIO, "slow.toml"), overrides=slow)
    assert not it.stable
    fluid, packets = it.fluid_course, it.packet_course
    assert packets is not None
    assert fluid.settled_s is None
    assert packets.settled_s is None
    assert packets.mean_bytes == pytest.approx(fluid.mean_bytes, rel=0.25)
    assert packets.deviation_bytes == pytest.approx(fluid.deviation_bytes, rel=0.25)


def test_everything_is_written(judged: fb.Stability, tmp_path: Path) -> None:
    judged.save(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"stability.csv", "stability.json", "stability.png", "stability.svg"}
    document = json.loads((tmp_path / "stability.json").read_text(encoding="utf-8"))
    assert document["stable"] is True
    assert document["points"][0]["decrease"]["phase_margin_deg"] > 0
    assert judged.table.columns[:2] == ["time_s", "fluid_queue_bytes"]
    assert judged.table.null_count().sum_horizontal().item() == 0


def test_the_command(forebay: Command, tmp_path: Path) -> None:
    (tmp_path / "baseline.toml").write_text(SCENARIO, encoding="utf-8")
    done = forebay("stability", "baseline.toml", "--no-packets", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["queue"], document["stable"], document["packets"]) == ("SW2->6", True, None)
    assert (tmp_path / "out/stability/baseline/stability.png").exists()
    shown = forebay("stability", "baseline.toml", "--out", "here")
    assert shown.returncode == 0, shown.stderr
    assert "Stable" in shown.stdout
    assert "packet simulation" in shown.stdout
    slow = forebay(
        *("stability", "baseline.toml", "--no-packets"),
        *("--set", "topology.ethernet.switch.forwarding_delay=50 us"),
        *("--set", "topology.ethernet.switch.memory=400 KB"),
    )
    assert slow.returncode == 1, slow.stderr
    assert "Unstable" in slow.stdout


def test_the_command_says_what_is_wrong(forebay: Command, small_file: Path, tmp_path: Path) -> None:
    (tmp_path / "baseline.toml").write_text(SCENARIO, encoding="utf-8")
    for arguments, expected in (
        ((small_file,), "topology.star"),
        (("baseline.toml", "--queue", "nowhere"), "--queue nowhere"),
        (("missing.toml",), "there is no file"),
    ):
        done = forebay("stability", *arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert expected in done.stderr
        assert done.stderr.count("error:") == 1
