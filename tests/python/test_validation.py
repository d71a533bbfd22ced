"""Agreement with recorded results of ns-2: the cases that take little time, and the judgement itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.validation import recorded

import forebay as fb


def run(scenario: Path, seed: int) -> str:
    return fb.run(scenario, seed=seed).to_json(series=False)


@pytest.mark.parametrize(
    "case", ["sfqsize", "drrsize", "cbq", "pi60", "piecn", "redbytes", "lotred", "lossmix", "cubicreno"]
)
def test_forebay_agrees_with_ns2(case: str) -> None:
    agreements = recorded.compare_recorded([case], 5, 1, run, lambda: None)
    outside = [(one.recorded.name, one.recorded.mean, one.mean) for one in agreements if one.verdict == "OUTSIDE"]
    assert not outside
    assert sum(one.verdict == "within" for one in agreements) > len(agreements) / 2


def test_every_case_has_a_scenario_and_every_known_difference_a_row() -> None:
    cases = recorded.read_recorded()
    assert sorted(path.stem for path in recorded.FOLDER.glob("*.toml")) == sorted(cases)
    names = [row.name for rows in cases.values() for row in rows]
    assert (len(cases), len(names)) == (22, 287)
    known = [name for rows in recorded.KNOWN.values() for name in rows]
    assert set(known) <= set(names)
    assert len(known) == len(set(known))


def test_a_difference_beyond_tolerance_and_scatter_is_outside() -> None:
    row = recorded.Recorded("made-up", "t.mbps", 10.0, 0.2, 5.0)
    for mean, ci95, verdict in [
        (10.5, 0.0, "within"),
        (9.5, 0.0, "within"),
        (10.6, 0.3, "OUTSIDE"),
        (10.6, 0.5, "scatter"),
    ]:
        assert recorded.Agreement(row, mean, ci95).verdict == verdict, mean
    few = recorded.Recorded("made-up", "t.rto", 2.0, 0.0, 15.0)
    assert [recorded.Agreement(few, mean, 0.0).verdict for mean in (7.0, 7.1)] == ["within", "OUTSIDE"]
    artifact = recorded.Recorded("slow", "t.rex", 4019.0, 0.0, 10.0)
    assert recorded.Agreement(artifact, 3528.0, 0.0).verdict == "known"
