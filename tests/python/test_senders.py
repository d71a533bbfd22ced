"""Watched TCP senders: their series, their states as periods, their figure and their part of a report."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import forebay as fb
from conftest import Command
from forebay import _core
from forebay.display.states import colours_of, under_curves
from forebay.reporting.folders import sections_of
from forebay.reporting.page import html_of
from forebay.reporting.parts import Charts, Lines
from forebay.runs.outcome import Outcome
from forebay.runs.senders import sender_of, watched_senders
from forebay.runs.series import Period, Series
from forebay.runs.simulate import simulate

SENDERS = """
duration = "12 s"
warmup = "1 s"

[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "10 Mbps", delay = "9 ms", queue.drop_tail = { limit = "40 packets" } }

[[flows]]
name = "bbr"
transport.tcp = { congestion_control = "bbr" }

[[flows]]
name = "cubic"
transport = "tcp"

[[flows]]
name = "other"
transport = "tcp"
start = "5 s"

[probes]
interval = "10 ms"
series = ["flows"]
senders = ["bbr", "cubic"]
"""


@pytest.fixture(scope="module")
def watched() -> fb.Result:
    return fb.run(fb.Scenario.from_toml(SENDERS))


@pytest.fixture(scope="module")
def folder(watched: fb.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("senders") / "watched"
    watched.save(path)
    return path


def colours_in(axes: Axes) -> list[str]:
    return [to_hex(np.atleast_2d(np.asarray(bars.get_facecolor()))[0].tolist()) for bars in axes.collections]


def states_of(values: list[float], *states: str) -> Series:
    return Series("sender", "tcp", "state", 0.1, 0.1, np.array(values), states)


def test_a_sample_counts_for_the_interval_that_it_ends() -> None:
    nan = np.nan
    series = states_of([nan, 0, 0, 1, nan, 0], "startup", "drain")
    times = [(period.state, round(period.start_s, 9), round(period.end_s, 9)) for period in series.periods()]
    assert times == [("startup", 0.1, 0.3), ("drain", 0.3, 0.4), ("startup", 0.5, 0.6)]
    assert states_of([nan, nan]).periods() == states_of([], "startup").periods() == []
    assert Series("queue", "q", "length_packets", 0.0, 1.0, np.ones(3)).periods() == []


def test_a_run_has_the_series_of_the_senders_that_it_names(watched: fb.Result) -> None:
    assert {one.name for one in watched.find_series("sender")} == {"bbr", "cubic"}
    (state,) = watched.find_series("sender", "bbr", "state")
    assert state.states == ("startup", "drain", "probe_bw", "probe_rtt")
    periods = state.periods()
    assert all(before.end_s == after.start_s for before, after in itertools.pairwise(periods))
    probe = next(period for period in periods if period.state == "probe_rtt")
    assert 10.0 < probe.start_s < 11.0
    assert 0.2 <= probe.end_s - probe.start_s < 0.35
    frame = watched.series("sender", "cubic", "state")
    assert frame.columns == ["time_s", "name", "quantity", "value"]
    known = {one.quantity for one in watched.find_series("sender", "cubic")}
    assert "pacing_rate_bps" in known
    assert "delivery_rate_bps" not in known
    with pytest.raises(fb.InputError, match='senders = \\["FLOW"\\]'):
        fb.run(fb.Scenario.from_toml(SENDERS).override({"probes.senders": []})).series("sender")


def test_a_loaded_result_is_the_same(watched: fb.Result, folder: Path) -> None:
    loaded = fb.load(folder)
    assert loaded.digest == watched.digest
    for before, after in zip(watched.all_series, loaded.all_series, strict=True):
        assert before.to_dict(values=False) == after.to_dict(values=False)
        assert before.states == after.states
        assert np.array_equal(before.values, after.values, equal_nan=True)
    document = json.loads(watched.to_json())
    heads = {(one["name"], one["quantity"]): one for one in document["series"]}
    assert heads["cubic", "state"]["states"] == list(watched.find_series("sender", "cubic", "state")[0].states)
    assert "states" not in heads["cubic", "in_flight_bytes"]


def test_a_state_without_a_name_is_a_damaged_file(folder: Path, tmp_path: Path) -> None:
    fb.load(folder).save(tmp_path / "damaged")
    path = tmp_path / "damaged" / "result.json"
    path.write_text(path.read_text().replace('["startup", "drain", "probe_bw", "probe_rtt"]', '["startup"]'))
    with pytest.raises(fb.InputError, match="a state has no name"):
        fb.load(tmp_path / "damaged")


def test_a_stored_run_keeps_the_names_of_states() -> None:
    short = SENDERS.replace('"12 s"', '"6 s"')
    outcome = simulate(short, "senders.toml", 1, lambda: True)
    facts = [("digest", outcome.digest)]
    frame = pl.read_parquet(io.BytesIO(_core.run_file(facts, outcome.to_tables())))
    again = Outcome.from_frame(frame)
    for before, after in zip(outcome.series, again.series, strict=True):
        assert (before.of, before.name, before.quantity, list(before.states)) == (
            after.of,
            after.name,
            after.quantity,
            list(after.states),
        )
    state = again.find_series("sender", "bbr", "state")
    assert state is not None
    assert state.states == ["startup", "drain", "probe_bw"]


def test_the_figure_has_a_row_for_each_state_and_bands_of_its_colour(watched: fb.Result) -> None:
    figure = watched.plot.sender("bbr")
    top, data, rate, rtt = figure.axes
    assert [tick.get_text() for tick in top.get_yticklabels()] == ["startup", "drain", "probe_bw", "probe_rtt"]
    assert [axes.get_ylabel() for axes in (data, rate, rtt)] == ["Data (kB)", "Rate (Mb/s)", "RTT (ms)"]
    assert rtt.get_xlabel() == "Time (s)"
    assert [line.get_label() for line in rtt.lines][:3] == ["Latest RTT", "Smoothed RTT", "RTT of the model"]
    colours = colours_of(["startup", "drain", "probe_bw", "probe_rtt"])
    assert colours_in(top) == [colour.lower() for colour in colours.values()]
    # The steady state has no band under the curves.
    for axes in (data, rate, rtt):
        assert colours_in(axes) == [colour.lower() for state, colour in colours.items() if state != "probe_bw"]
    with pytest.raises(fb.InputError, match="there is no sender series of name 'other'"):
        watched.plot.sender("other")


def test_a_sender_that_measures_no_delivery_shows_what_it_sent(watched: fb.Result) -> None:
    rate = watched.plot.sender("cubic").axes[2]
    assert [line.get_label() for line in rate.lines][:2] == ["Pacing rate", "Sent"]


def test_a_connection_that_never_opens_has_no_figure(tmp_path: Path) -> None:
    late = fb.run(fb.Scenario.from_toml(SENDERS).override({"duration": "5010 ms", "probes.senders": ["other"]}))
    assert watched_senders(late.all_series) == []
    with pytest.raises(fb.InputError, match="never open"):
        late.plot.sender("other")
    assert not [path for path in late.plot.save_all(tmp_path, (".svg",)) if path.name.startswith("sender")]


def test_states_with_too_many_periods_are_rows_only() -> None:
    busy = [(float(time), time + 0.5) for time in range(1000)]
    bands = {"startup": [(0.0, 1.0)], "probe_bw_up": busy, "probe_bw_cruise": busy, "probe_rtt": busy[:100]}
    assert list(under_curves(bands)) == ["startup", "probe_rtt"]


def test_a_band_has_no_gap_that_nobody_can_see(watched: fb.Result) -> None:
    sender = sender_of(watched.all_series, "bbr")
    flicker = [Period(state, time, time + 1) for time, state in enumerate(["recovery", "slow_start"] * 5000)]
    bands = type(sender)("tcp", [], flicker).bands()
    assert bands == {"recovery": [(0, 9999)], "slow_start": [(1, 10000)]}


def test_colours_are_those_of_the_state_in_every_figure() -> None:
    one, other = colours_of(["startup", "mine"]), colours_of(["probe_rtt", "startup", "mine", "yours"])
    assert one["startup"] == other["startup"]
    assert len(set(other.values())) == 4


def test_saved_figures_have_one_for_each_sender(folder: Path, forebay: Command) -> None:
    done = forebay("plot", str(folder))
    assert done.returncode == 0
    names = {path.name for path in folder.iterdir()}
    assert {"sender-bbr.png", "sender-bbr.svg", "sender-cubic.png", "series-flow.png"} <= names
    assert not [name for name in names if name.startswith("series-sender")]


def test_the_report_has_the_states_as_bands(folder: Path) -> None:
    (section,) = sections_of([folder])
    (part,) = [part for part in section.parts if isinstance(part, Charts) and part.heading == "Senders"]
    charts = {chart.title: chart for chart in part.charts if isinstance(chart, Lines)}
    assert list(charts) == [f"{what} of {name}" for name in ("bbr", "cubic") for what in ("Data", "Rate", "RTT")]
    bands = {band.name: band for band in charts["RTT of bbr"].bands}
    assert list(bands) == ["startup", "drain", "probe_rtt"]
    (start,), (end,) = bands["probe_rtt"].starts, bands["probe_rtt"].ends
    assert 10.0 < start < end < 11.0
    # No other chart shows the numbers of the states.
    titles = [chart.title for part in section.parts if isinstance(part, Charts) for chart in part.charts]
    assert not [title for title in titles if "state" in title.lower()]
    page = html_of("senders", [section])
    assert "VStrip" in page
    assert page.count("<span>probe_rtt</span>") == 3


@pytest.mark.parametrize("name", ["bbr", "bbr3"])
def test_explain_shows_the_states(name: str, forebay: Command) -> None:
    shown = forebay("explain", name, env={"COLUMNS": "80"})
    lines = shown.stdout.splitlines()
    assert "States" in [line.strip() for line in lines]
    assert max(map(len, lines)) <= 80
    page = Path(__file__).parents[2] / "docs" / "reference" / "transports" / f"{name}.md"
    diagram = page.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    for line in filter(str.strip, diagram.splitlines()):
        assert any(line.strip() in shown_line for shown_line in lines), line
