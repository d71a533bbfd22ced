"""Scenarios from files, texts and typed objects."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forebay as fb
from conftest import SMALL
from forebay import types
from forebay.scenario import override_texts

EXAMPLES = Path(__file__).parents[2] / "examples"


def typed() -> types.Scenario:
    link = types.LinkSpec(rate="10 Mbps", delay="5 ms", queue=types.RedQueue(red=types.RedConfig(limit="50 packets")))
    access = types.LinkSpec(rate="100 Mbps", delay="1 ms")
    return types.Scenario(
        duration="1 s",
        topology=types.StarTopology(star=types.Star(access=access, bottleneck=link)),
        flows=[types.FlowGroup(name="tcp", count=2, transport="tcp")],
    )


def test_what_is_in_a_scenario(small: fb.Scenario) -> None:
    assert (small.name, small.duration_s, small.warmup_s, small.seed) == ("small", 4.0, 0.5, 1)
    assert small.flows == ["tcp-0", "tcp-1", "tcp-2", "bf"]
    assert "bottleneck" in small.links
    assert repr(small).startswith("<Scenario 'small': 4 flows")


def test_typed_objects_make_the_same_scenario_as_text() -> None:
    from_types = fb.Scenario.from_types(typed())
    from_keys = fb.Scenario(
        duration="1 s",
        topology={
            "star": {
                "access": types.LinkSpec(rate="100 Mbps", delay="1 ms"),
                "bottleneck": {"rate": "10 Mbps", "delay": "5 ms", "queue": {"red": {"limit": "50 packets"}}},
            }
        },
        flows=[{"name": "tcp", "count": 2, "transport": "tcp", "start": None}],
    )
    assert tomllib.loads(from_types.to_toml()) == tomllib.loads(from_keys.to_toml())
    assert fb.run(from_types).digest == fb.run(from_keys).digest


def test_overrides_replace_values(small: fb.Scenario) -> None:
    other = small.override({"flows.tcp.count": 5, "duration": "2 s", "flows.tcp.start": {"exponential": "10 ms"}})
    assert (len(other.flows), other.duration_s, len(small.flows)) == (6, 2.0, 4)
    assert tomllib.loads(other.to_toml())["flows"][0]["start"] == {"exponential": "10 ms"}
    assert fb.run(small, overrides={"flows.tcp.count": 1}).flows.height == 2


def test_errors_show_the_place() -> None:
    with pytest.raises(fb.ScenarioError, match="did you mean `count`") as caught:
        fb.Scenario.from_toml(SMALL.replace("count", "cuont"), "small.toml")
    assert "small.toml:11:1" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert "\x1b" in caught.value.coloured


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(fb.InputError, match="there is no file"):
        fb.Scenario.load(tmp_path / "none.toml")


def test_scenarios_travel_to_other_processes(small: fb.Scenario) -> None:
    copy = pickle.loads(pickle.dumps(small.override({"flows.tcp.count": 2})))
    assert len(copy.flows) == 3


values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(values)
def test_any_override_is_written_as_toml(value: object) -> None:
    ((path, text),) = override_texts({"a.b": value})
    assert path == "a.b"
    assert tomllib.loads(f"v = {text}")["v"] == value


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    with pytest.raises(fb.ScenarioError):
        fb.Scenario.from_toml(text)


def test_an_expanded_scenario_is_the_same_scenario() -> None:
    short = {"duration": "1 s", "warmup": "0 s"}
    scenario = fb.Scenario.load(EXAMPLES / "call.toml", short)
    expanded = fb.Scenario.from_toml(scenario.to_toml(expanded=True))
    assert expanded.flows == scenario.flows == ["call", "call-back", "upload-0", "upload-1", "download"]
    assert fb.run(expanded).digest == fb.run(scenario).digest
    assert "hosts_of" not in scenario.to_toml()
