"""`forebay trace`: the rates and outages that it shows, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forebay as fb
from conftest import Command

TRAIN = Path(__file__).parents[2] / "examples/traces/lte-train.csv"


def test_a_trace_of_mahimahi_has_an_outage_where_no_opportunity_is(forebay: Command, tmp_path: Path) -> None:
    times = [*range(1, 1001), *range(3001, 4001)]
    trace = tmp_path / "gap.trace"
    trace.write_text("".join(f"{time}\n" for time in times), encoding="utf-8")
    done = forebay("trace", trace, "--json")
    shown = json.loads(done.stdout)
    assert shown["format"] == "mahimahi"
    assert shown["period_s"] == 4.0
    assert shown["mean_bps"] == pytest.approx(1504 * 8 * 2000 / 4.0)
    assert [(round(start, 3), round(length, 3)) for start, length in shown["outages"]] == [(1.0, 2.001)]


@pytest.mark.parametrize(
    ("text", "place"),
    [("hello\n", "line 1"), ("1\n2\nx\n", "line 3"), ("3\n2\n", "line 2"), ("", "no opportunit")],
)
def test_a_file_that_is_no_trace_gets_an_error_with_the_line(
    forebay: Command, tmp_path: Path, text: str, place: str
) -> None:
    trace = tmp_path / "bad.trace"
    trace.write_text(text, encoding="utf-8")
    done = forebay("trace", trace)
    assert done.returncode == 2
    assert str(trace) in done.stderr.replace("\n", "")
    assert place in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("interval", ["1 ns", "3 h", "0 s", "nothing"])
def test_an_interval_that_does_not_suit_the_trace_is_refused(forebay: Command, interval: str) -> None:
    done = forebay("trace", TRAIN, "--interval", interval)
    assert done.returncode == 2
    assert "interval" in done.stderr
    assert not done.stdout


def test_a_missing_file_is_an_input_error() -> None:
    with pytest.raises(fb.InputError, match=r"cannot read no/such\.trace"):
        fb.describe_trace("no/such.trace")
