"""flent's tests by name: their scenarios, their figure, and results in flent's format."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forebay as fb
from conftest import Command
from forebay.flent.scenarios import TESTS
from forebay.runs.series import with_gaps_filled

RRUL = {
    *(f"TCP {way} {mark}" for way in ("upload", "download") for mark in ("BE", "BK", "CS5", "EF", "avg", "sum")),
    "TCP totals",
    *(f"Ping (ms) {mark}" for mark in ("UDP EF", "UDP BK", "UDP BE", "ICMP", "avg")),
}
RRUL_BE = {
    *(f"TCP {way} {mark}" for way in ("upload", "download") for mark in ("BE", "BE2", "BE3", "BE4", "avg", "sum")),
    "TCP totals",
    *(f"Ping (ms) {mark}" for mark in ("UDP BE1", "UDP BE2", "UDP BE3", "ICMP", "avg")),
}
UPLOADS = {
    *(f"TCP upload::{number}" for number in (1, 2, 3)),
    *(f"TCP upload {it}" for it in ("avg", "sum", "fairness")),
}
SERIES = {
    "rrul": RRUL,
    "rrul_be": RRUL_BE,
    "tcp_nup": {*UPLOADS, "Ping (ms) ICMP"},
    "tcp_ndown": {*(name.replace("up", "down") for name in UPLOADS), "Ping (ms) ICMP"},
}


def _streams(test: str) -> int | None:
    return 3 if test.startswith("tcp") else None


@pytest.fixture(scope="module", params=TESTS)
def result(request: pytest.FixtureRequest) -> fb.Result:
    return fb.run(
        fb.flent_scenario(request.param, down="20 Mbps", up="5 Mbps", streams=_streams(request.param), length="4 s")
    )


def exported(result: fb.Result, folder: Path) -> dict[str, Any]:
    path = fb.export_flent(result, folder / "data.flent.gz", title="a queue")
    content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return content


def test_files_have_the_series_and_metadata_of_flent(result: fb.Result, tmp_path: Path) -> None:
    data = exported(result, tmp_path)
    assert data["version"] == 4
    assert set(data["results"]) == SERIES[result.scenario]
    metadata = data["metadata"]
    assert (metadata["NAME"], metadata["TITLE"]) == (result.scenario, "a queue")
    assert (metadata["LENGTH"], metadata["TOTAL_LENGTH"], metadata["STEP_SIZE"]) == (4, 14.0, 0.2)
    times = data["x_values"]
    assert (len(times), times[0], times[-1]) == (70, 0.2, 14.0)
    assert {len(points) for points in data["results"].values()} == {70}
    assert set(metadata["SERIES_META"]) == set(data["results"])
    measured = {name for name in data["results"] if not name.endswith((" avg", " sum", " totals", " fairness"))}
    assert set(data["raw_values"]) == measured
    for name in measured:
        points = [(time, value) for time, value in zip(times, data["results"][name], strict=True) if value is not None]
        known = [(raw["t"], raw["val"]) for raw in data["raw_values"][name]]
        # Points between measured ones are interpolated.
        assert set(known) <= set(points)
        assert (known[0], known[-1]) == (points[0], points[-1])
        load = not name.startswith("Ping")
        # The load begins at 5 s and stops at 9 s; pings go on.
        assert (
            (5.0 < known[0][0] < 5.6 and known[-1][0] < 11.0) if load else (known[0][0] <= 0.4 and known[-1][0] == 14.0)
        )
        assert load or min(value for _, value in known) == pytest.approx(40.0, abs=0.5)


def test_computed_series_are_of_the_flows_at_each_time(result: fb.Result, tmp_path: Path) -> None:
    values = exported(result, tmp_path)["results"]
    way = "download" if result.scenario == "tcp_ndown" else "upload"
    flows = [
        values[name]
        for name in values
        if name.startswith(f"TCP {way}") and name.split()[-1] not in ("avg", "sum", "fairness")
    ]
    at = 40  # 8.2 s
    here = [points[at] for points in flows]
    assert values[f"TCP {way} sum"][at] == pytest.approx(sum(here))
    assert values[f"TCP {way} avg"][at] == pytest.approx(sum(here) / len(here))
    assert values[f"TCP {way} sum"][0] is None
    if result.scenario.startswith("tcp"):
        index = sum(here) ** 2 / (len(here) * sum(each * each for each in here))
        assert values[f"TCP {way} fairness"][at] == pytest.approx(index)
    else:
        assert values["TCP totals"][at] == pytest.approx(values["TCP upload sum"][at] + values["TCP download sum"][at])


def test_load_fills_the_line_and_lengthens_round_trips(result: fb.Result) -> None:
    pings = result.pings
    assert pings.get_column("rtt_max_s").min() > 0.1  # type: ignore[operator]
    assert pings.get_column("rtt_min_s").max() < 0.0405  # type: ignore[operator]
    (down,) = result.find_series("queue", "down", "length_packets")
    (up,) = result.find_series("queue", "up", "length_packets")
    assert (np.max(up.values) > 100) == (result.scenario != "tcp_ndown")
    assert (np.max(down.values) > 20) == (result.scenario != "tcp_nup")


def test_short_gaps_are_filled_between_their_neighbours() -> None:
    nan = float("nan")
    values = np.array([nan, 1.0, nan, 3.0, nan, nan, nan, nan, nan, nan, 5.0, nan])
    np.testing.assert_array_equal(with_gaps_filled(values), [*values[:2], 2.0, *values[3:]])
    np.testing.assert_array_equal(with_gaps_filled(values[4:], most=6), values[4:])
    assert with_gaps_filled(values, most=6)[4:10] == pytest.approx(3 + 2 / 7 * np.arange(1, 7))
    assert np.isnan(with_gaps_filled(np.full(3, nan))).all()


def test_equal_results_are_equal_files(result: fb.Result, tmp_path: Path) -> None:
    one = fb.export_flent(result, tmp_path / "one" / "x.flent.gz").read_bytes()
    assert one == fb.export_flent(result, tmp_path / "two" / "x.flent.gz").read_bytes()


def test_figures_have_flents_panels(result: fb.Result) -> None:
    figure = result.plot.under_load()
    panels = [axes.get_ylabel() for axes in figure.axes]
    both = ["TCP download (Mb/s)", "TCP upload (Mb/s)", "Ping (ms)"]
    expected = {"tcp_nup": both[1:], "tcp_ndown": [both[0], both[2]]}
    assert panels == expected.get(result.scenario, both)
    ping = [line.get_label() for line in figure.axes[-1].get_lines()]
    assert ping == {"rrul": ["ICMP", "UDP BE", "UDP BK", "UDP EF", "mean"]}.get(result.scenario, ping)
    mean = figure.axes[0].get_lines()[-1]
    assert mean.get_label() == "mean"
    shown = np.asarray(mean.get_ydata(), dtype=float)
    assert np.isnan(shown[0])
    assert 0 < np.nanmax(shown) < 25


def test_classes_of_rrul_are_those_of_its_marks() -> None:
    document = tomllib.loads(fb.flent_scenario("rrul", queue="cake").text)
    classes = {flow["name"]: flow.get("class", 0) for flow in document["flows"]}
    assert classes["TCP upload BK"] == classes["Ping (ms) UDP BK"] == 8
    assert (classes["TCP download CS5"], classes["TCP upload EF"], classes["Ping (ms) UDP EF"]) == (40, 46, 46)
    assert classes["TCP upload BE"] == classes["Ping (ms) ICMP"] == 0
    assert document["topology"]["home"]["up"]["queue"] == {"cake": {"bandwidth": "9500000 bps"}}


def test_the_command_prints_a_scenario_that_runs_and_exports(forebay: Command, tmp_path: Path) -> None:
    printed = forebay("flent", "tcp_nup", "--up", "8 Mbps", "--rtt", "20 ms", "--streams", "2", "--length", "2 s")
    assert (printed.returncode, printed.stderr) == (0, "")
    file = tmp_path / "test.toml"
    file.write_text(printed.stdout, encoding="utf-8")
    folder = tmp_path / "fifo"
    ran = forebay("run", file, "--out", folder)
    assert ran.returncode == 0
    assert "Pings" in ran.stdout
    done = forebay("export", folder)
    assert (done.returncode, done.stdout.strip()) == (0, str(folder / "tcp_nup.flent.gz"))
    data = json.loads(gzip.decompress((folder / "tcp_nup.flent.gz").read_bytes()))
    assert data["metadata"]["TITLE"] == "fifo"
    assert data["metadata"]["TEST_PARAMETERS"] == {"upload_streams": "2"}
    assert f"{folder / 'under-load.png'}" in forebay("plot", folder).stdout


def test_impossible_tests_are_refused(forebay: Command) -> None:
    for options, message in [
        (("rrull",), "did you mean rrul?"),
        (("rrul", "--queue", "red = {}"), "is not the bare name of a discipline"),
        (("rrul", "--queue", "codl"), "codel"),
        (("rrul", "--rtt", "10 us"), "too short"),
        (("rrul", "--rtt", "soon"), "write it with its unit"),
        (("rrul", "--up", "fast"), "up: expected a rate above 0, and found 'fast'"),
        (("rrul", "--down", '5 Mbps" }'), "down: expected a rate above 0"),
    ]:
        done = forebay("flent", *options)
        assert (done.returncode, done.stdout) == (2, ""), options
        assert message in done.stderr, options


def test_other_results_are_not_exported(small: fb.Scenario, tmp_path: Path) -> None:
    result = fb.run(small, overrides={"duration": "2 s"})
    with pytest.raises(fb.InputError, match="which is no test of flent"):
        fb.export_flent(result, tmp_path / "x.flent.gz")
    with pytest.raises(fb.InputError, match="no series of flows with the names of rrul"):
        fb.export_flent(result, tmp_path / "x.flent.gz", test="rrul")
    with pytest.raises(fb.InputError, match=r"does not end in \.flent\.gz"):
        fb.export_flent(result, tmp_path / "x.json")
    with pytest.raises(fb.InputError, match="recorded no round-trip times"):
        result.plot.under_load()
    assert not list(tmp_path.iterdir())


def test_pings_are_kept_on_disk(result: fb.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    loaded = fb.load(tmp_path)
    assert loaded.pings.equals(result.pings)
    assert loaded.digest == result.digest


@pytest.mark.parametrize("test", ["rrul", "rrul_be"])
def test_tests_of_four_streams_take_no_other_number(forebay: Command, test: str) -> None:
    done = forebay("flent", test, "--streams", "8")
    assert done.returncode == 2
    assert "four streams in each direction" in done.stderr
    assert "hint: tcp_nup" in done.stderr
    assert not done.stdout
