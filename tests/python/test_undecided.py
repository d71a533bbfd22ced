"""Verdicts when the seeds are too few: the rule, and where it shows."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from experiment_samples import FILE, every_outcome, outcome, sample
from forebay.cli.session import reproduce
from forebay.experiment.judge import ClaimResult, Finding, judge_all
from forebay.experiment.runs import Runs
from forebay.experiment.schema import Band
from forebay.reporting.claims import claims_section
from forebay.runs.outcome import Outcome
from forebay.runs.statistics import estimate_mean


def judged(rates: list[float], *bands: dict[str, float], asked: int | None = None, **claim: Any) -> ClaimResult:
    """Judge the mean of these goodputs in Mb/s, one for each seed."""
    checks = [{"metric": "tcp", "band": band} for band in bands]
    experiment = sample(
        seeds=len(rates) if asked is None else asked,
        vary=None,
        variants=[{"name": "A"}],
        figures=[],
        tables=[],
        claims=[{**FILE["claims"][0], "checks": checks, **claim}],
    )
    found = every_outcome(experiment, lambda *at: outcome(tcp=(1e6 * rates[at[2] - 1],)), seeds=len(rates))
    return judge_all(Runs(experiment, False, found))[0]


def spread(mean: float, ci95: float) -> list[float]:
    """Three values with that mean and that half-width of the interval."""
    step = ci95 * math.sqrt(3) / 4.302652729911275
    return [mean - step, mean, mean + step]


WIDE = spread(34.3, 31.7)
"""The claim that a quick run of the SFB paper's Figure 5 called reproduced, in a band from 27 to 45."""


@pytest.mark.parametrize(
    ("rates", "band", "verdict"),
    [
        (WIDE, {"min": 27, "max": 45}, "undecided"),
        (WIDE, {"above": 27, "below": 45}, "undecided"),
        (spread(34.3, 8.9), {"min": 27, "max": 45}, "reproduced"),
        # The mean is outside, but the interval reaches into the band.
        (spread(60.0, 31.7), {"min": 27, "max": 45}, "undecided"),
        # The whole interval is outside, however wide it is.
        (spread(80.0, 31.7), {"min": 27, "max": 45}, "not reproduced"),
        # A narrow interval that contains an edge: the verdict follows the mean.
        (spread(44.0, 8.0), {"min": 27, "max": 45}, "reproduced"),
        (spread(46.0, 8.0), {"min": 27, "max": 45}, "not reproduced"),
        # A band with one edge has no width.
        (WIDE, {"min": 27}, "reproduced"),
        (WIDE, {"max": 27}, "not reproduced"),
        (WIDE, {"above": 34}, "reproduced"),
        ([5.0, 5.0, 5.0], {"equals": 5}, "reproduced"),
        ([4.0, 5.0, 6.0], {"equals": 5}, "undecided"),
        ([4.0, 5.0, 5.0], {"equals": 5}, "not reproduced"),
    ],
)
def test_an_interval_wider_than_its_band_leaves_the_claim_undecided(
    rates: list[float], band: dict[str, float], verdict: str
) -> None:
    assert judged(rates, band).verdict == verdict


def test_a_check_that_fails_decides_against_the_claim_whatever_the_others_are() -> None:
    assert judged(WIDE, {"min": 27, "max": 45}, {"min": 90}).verdict == "not reproduced"
    assert judged(WIDE, {"min": 27, "max": 45}, {"min": 1}).verdict == "undecided"


@pytest.mark.parametrize(
    ("band", "asked", "verdict"),
    [
        ({"min": 27, "max": 45}, 3, "undecided"),
        # The file itself asks for one seed.
        ({"min": 27, "max": 45}, 1, "reproduced"),
        ({"min": 27}, 3, "reproduced"),
        ({"min": 40}, 3, "not reproduced"),
        ({"equals": 33}, 3, "not reproduced"),
        ({"equals": 34}, 3, "undecided"),
    ],
)
def test_one_seed_has_no_interval(band: dict[str, float], asked: int, verdict: str) -> None:
    result = judged([34.0], band, asked=asked)
    assert result.verdict == verdict
    assert result.reason == ("one seed has no interval" if verdict == "undecided" else "")


def test_a_formula_does_not_depend_on_seeds() -> None:
    metric = {"kind": "constant", "value": 34.0, "unit": "Mb/s"}
    experiment = sample(claims=[{**FILE["claims"][0], "checks": [{"metric": metric, "band": {"min": 27, "max": 45}}]}])
    (result,) = judge_all(Runs(experiment, False, every_outcome(experiment, lambda *_: outcome(), seeds=1)))
    assert result.verdict == "reproduced"


def test_a_claim_that_needs_more_seeds_is_not_judged_before_it_is_undecided() -> None:
    result = judged(WIDE, {"min": 27, "max": 45}, asked=10, seeds=10)
    assert (result.verdict, result.reason) == ("not judged", "needs 10 seeds")


def test_an_undecided_value_says_how_many_seeds_make_the_interval_as_narrow_as_the_band() -> None:
    document = judged(WIDE, {"min": 27, "max": 45}).to_json()
    assert document["verdict"] == "undecided"
    assert document["reason"] == "the interval is wider than the band; about 11 seeds would be enough"
    (value,) = document["checks"][0]["values"]
    assert (value["undecided"], value["holds"], value["seeds_to_tell"]) == (True, True, 11)
    # Checked by hand: s = 31.7 * sqrt(3) / 4.303 = 12.76,
    # and 2.228 * 12.76 / sqrt(11) = 8.57 < 9 < 2.262 * 12.76 / sqrt(10).
    deviation = 31.7 * math.sqrt(3) / 4.302652729911275
    assert 2.2281 * deviation / math.sqrt(11) < 9 < 2.2622 * deviation / math.sqrt(10)


@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=6),
    st.tuples(st.floats(-100, 100), st.floats(-100, 100)).map(sorted),
)
def test_an_interval_inside_the_band_holds_and_one_outside_it_fails(rates: list[float], edges: list[float]) -> None:
    low, high = edges
    band, estimate = Band(min=low, max=high), estimate_mean(np.array(rates))
    half = estimate.ci95 or 0.0
    finding = Finding("", estimate, band.holds(estimate.mean), band.margin(estimate.mean), band.width)
    if low <= estimate.mean - half and estimate.mean + half <= high:
        assert finding.holds
        # The two edges may be one number, and rounding may make a half-width of it.
        assert not finding.undecided or 2 * half > high - low
    if estimate.mean + half < low or estimate.mean - half > high:
        assert not finding.holds
        assert not finding.undecided
    if finding.undecided:
        assert 2 * half > high - low


def simulator(text: str, name: str, seed: int, go_on: object) -> Outcome:
    return outcome(tcp=(1e6 * WIDE[seed - 1],))


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment with one undecided claim."""
    file = copy.deepcopy(FILE)
    file["seeds"] = 3
    file["claims"] = [{**FILE["claims"][0], "checks": [{"metric": "tcp", "band": {"min": 27, "max": 45}}]}]
    path = tmp_path / "experiments" / "sample" / "one.toml"
    path.parent.mkdir(parents=True)
    path.write_text(tomli_w.dumps(file))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_undecided_claim_is_shown_everywhere_and_is_no_failure(
    wide: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = wide / "out"
    assert reproduce(["sample/one"], simulate=simulator, out=out, as_json=True) == 0
    captured = capsys.readouterr()
    (experiment,) = json.loads(captured.out)["experiments"]
    assert [claim["verdict"] for claim in experiment["claims"]] == ["undecided"]
    warning = "sample/one: too few seeds to decide sample/one-tcp; take more with --seeds"
    assert experiment["warnings"] == [warning]
    assert f"warning: {warning}" in captured.err
    assert reproduce(["sample/one"], simulate=simulator, out=out) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "1 claim: 1 undecided" in printed
    assert "undecided: the interval is 63.4 wide, the band" in printed
    page = (out / "sample" / "one" / "report.md").read_text()
    assert f"Warning: {warning}." in page
    assert "| undecided: the interval is wider than the band; about 11 seeds would be enough |" in page
    section = claims_section(out, "out")
    assert ("Undecided", "1") in section.facts
    assert f"Warning: {warning}." in section.about


def test_a_run_of_one_seed_warns(wide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = wide / "experiments" / "sample" / "one.toml"
    path.write_text(path.read_text().replace(", max = 45", ""))
    assert reproduce(["sample/one"], simulate=simulator, out=wide / "out", seeds=1, as_json=True) == 1
    (experiment,) = json.loads(capsys.readouterr().out)["experiments"]
    (warning,) = experiment["warnings"]
    assert warning == "sample/one: one seed has no confidence interval, so other seeds may change the verdicts"
