"""Texts of users, drawn at random: each is taken, or refused with a message, and nothing else happens."""

from __future__ import annotations

import copy
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb
from experiment_samples import FILE
from forebay.comparison.contenders import contenders_of, disciplines, find_place, fitting
from forebay.experiment.errors import ExperimentError
from forebay.experiment.load import load_experiment
from forebay.experiment.plan import make_plan
from forebay.experiment.schema import Experiment
from forebay.sweeps.axes import Axis, number_of, parse_axes
from forebay.sweeps.points import points_of
from forebay.sweeps.until import Until
from test_sweep import SCENARIO

REFUSED = (fb.InputError, fb.ScenarioError)
OFFICE = fb.Scenario.from_toml(SCENARIO, "office.toml")
KEYS = [
    "flows.tcp.count",
    "duration",
    "topology.star.bottleneck.rate",
    "topology.star.bottleneck.queue.drop_tail.limit",
]

numbers = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.sampled_from(
        ["0", "-0", "1e308", "1e309", "1e-320", "1_000", "0x10", "٣", "1e", ".5", "5.", "+7", "nan", "inf"]
    ),
)
units = st.sampled_from(["", " Mbps", "Mbps", " packets", " s", " ms", " KB", " %", " parsec", "\u00a0s", "\n"])
quantities = st.tuples(numbers, units).map("".join)
ranges = st.tuples(
    st.sampled_from(["lin", "log", "uniform", "loguniform", "LIN", "cubic", " lin "]),
    st.lists(st.one_of(quantities, st.text(max_size=4)), max_size=5),
).map(lambda parts: ":".join([parts[0], *parts[1]]))
lists = st.lists(st.one_of(quantities, st.text(max_size=6)), max_size=6).map(",".join)
vary_texts = st.one_of(ranges, lists, st.text(max_size=30))


@settings(max_examples=400)
@given(key=st.sampled_from([*KEYS, "flows.tcp.none", "", "a..b"]), text=vary_texts)
def test_a_text_of_vary_is_taken_or_refused(key: str, text: str) -> None:
    with suppress(*REFUSED):
        axes = parse_axes({key: text}, OFFICE.override)
        for axis in axes:
            if isinstance(axis, Axis):
                assert axis.values
                # An accepted text has the values that it names, in its order.
                assert all(isinstance(value, str | int | float) for row in axis.values for value in row)
        sampled = not isinstance(axes[0], Axis)
        points = points_of(axes, way="random" if sampled else "grid", samples=3 if sampled else None, seed=1)
        for point in points[:3]:
            OFFICE.override(point)


@given(
    low=st.integers(1, 1000), factor=st.integers(2, 50), count=st.integers(2, 9), kind=st.sampled_from(["lin", "log"])
)
def test_a_range_that_is_well_formed_is_taken(low: int, factor: int, count: int, kind: str) -> None:
    (axis,) = parse_axes(
        {KEYS[2]: f"{kind}:{low}:{low * factor}:{count} Mbps".replace(f":{count} Mbps", f" Mbps:{count}")},
        OFFICE.override,
    )
    assert isinstance(axis, Axis)
    ends = [number_of(axis.values[at][0]) for at in (0, -1)]
    assert ends == [(low, "Mbps"), (low * factor, "Mbps")]


names = st.sampled_from([*disciplines(), "all", "hfsc", "RED", "", "red "])
values = st.one_of(
    numbers,
    quantities,
    st.text(max_size=8),
    st.sampled_from(["true", "{}", "[1, 2", '"a,b"', "[[x]]", "'''", '"\\u0000"']),
)
parameters = st.dictionaries(
    st.one_of(st.sampled_from(["limit", "min_threshold", "target", "weights", "gentle"]), st.text(max_size=8)),
    values,
    max_size=3,
).map(lambda given: ",".join(f"{key}={value}" for key, value in given.items()))
queues = st.one_of(
    st.tuples(st.one_of(st.just(""), st.text(max_size=5).map(lambda it: it + "=")), names, parameters).map(
        lambda parts: f"{parts[0]}{parts[1]}:{parts[2]}" if parts[2] else parts[0] + parts[1]
    ),
    st.lists(names, max_size=4).map(",".join),
    st.text(max_size=30),
)


@settings(max_examples=400)
@given(texts=st.lists(queues, min_size=1, max_size=2))
def test_a_text_of_queues_is_taken_or_refused(texts: list[str]) -> None:
    with suppress(*REFUSED):
        contenders = contenders_of(texts)
        assert contenders
        assert len({contender.label for contender in contenders}) == len(contenders)
        fitting(OFFICE, find_place(OFFICE, None), contenders[:4], {}, lenient=False)


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(max_size=30), st.tuples(st.text(max_size=8), numbers, units).map(lambda it: f"{it[0]} < {it[1]}{it[2]}")
    )
)
def test_a_text_of_until_is_taken_or_refused(text: str) -> None:
    with suppress(fb.InputError):
        rule = Until.parse(text)
        assert rule.bound > 0.0


PIECES: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    "",
    "text",
    "flows.tcp.count",
    [],
    [1],
    [[]],
    {},
    {"min": 1},
    {"kind": "column"},
]


def changed(document: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Change, add or remove one value somewhere in an experiment file."""
    document = copy.deepcopy(document)
    place: Any = document
    places: list[tuple[Any, Any]] = []
    while isinstance(place, dict | list) and place:
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
        places.append((place, key))
        place = place[key]
    holder, key = draw.choice(places)
    what = draw.random()
    if what < 0.15:
        del holder[key]
    elif what < 0.3 and isinstance(holder, dict):
        holder[draw.choice(["x", "variants", "checks", "minus", "unknown", "\u2028"])] = draw.choice(PIECES[1:])
    else:
        holder[key] = draw.choice(PIECES[1:])
    return document


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 3))
def test_an_experiment_file_is_taken_or_refused_with_its_place(
    seed: int, changes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    draw = random.Random(seed)
    document = FILE
    for _ in range(changes):
        document = changed(document, draw)
    path = tmp_path_factory.getbasetemp() / "experiment.toml"
    path.write_text(tomli_w.dumps(document))
    with suppress(*REFUSED):
        planned(path)


@pytest.mark.parametrize("values", [True, "1, 2", 3, {}])
def test_values_of_an_axis_that_are_no_list(values: object, tmp_path: Path) -> None:
    document = copy.deepcopy(FILE)
    document["vary"].pop("points", None)
    document["vary"]["values"] = values
    path = tmp_path / "experiment.toml"
    path.write_text(tomli_w.dumps(document))
    with pytest.raises(ExperimentError, match="`values` must be a list"):
        load_experiment(path)


def planned(path: Path) -> None:
    experiment = load_experiment(path)
    assert isinstance(experiment, Experiment)
    for quick in (False, True):
        plan = make_plan(experiment, quick=quick, seeds=1)
        for job in plan.jobs[:2]:
            fb.Scenario.from_toml(job.text)


@settings(max_examples=200)
@given(content=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda it: it.encode("utf-8", "replace"))))
def test_any_bytes_are_no_experiment_and_no_fault(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(content)
    with pytest.raises(ExperimentError):
        load_experiment(path)
