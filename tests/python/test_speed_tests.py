"""The speed test by name: its rule, rates and latencies on lines that are known, and its command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.table import Table

import forebay as fb
from conftest import Command
from forebay.speed_tests.scenario import check
from forebay.speed_tests.table import terminal_tables

PAYLOAD = 1448 / 1500
"""Share of a segment's 1500 B that is payload: 40 B are headers of IP and TCP, 12 B the timestamps."""


@pytest.fixture(scope="module")
def result() -> fb.Result:
    return fb.run(fb.speed_test_scenario(down="20 Mbps", up="5 Mbps", queue="fq_codel"))


@pytest.mark.parametrize("queue", ["drop_tail", "fq_codel", "cake"])
@pytest.mark.parametrize(("down", "up"), [(20, 5), (8, 20), (100, 20)])
def test_rates_are_the_payload_that_the_line_carries(down: int, up: int, queue: str) -> None:
    scenario = fb.speed_test_scenario(down=f"{down} Mbps", up=f"{up} Mbps", rtt="20 ms", queue=queue)
    measured = fb.speed_test(fb.run(scenario))
    # The ping takes 84 B each 0.2 s, at most 0.07 % of the line. CAKE shapes to 95 % of it.
    share = PAYLOAD * (0.95 if queue == "cake" else 1.0)
    assert measured.download_bps == pytest.approx(down * 1e6 * share, rel=0.01)
    assert measured.upload_bps == pytest.approx(up * 1e6 * share, rel=0.01)


def test_latency_is_that_of_the_path_and_its_queue(result: fb.Result) -> None:
    measured = fb.speed_test(result)
    # 40 ms, and the transmission of a ping on both lines. The median is of a histogram with buckets of 1.6 %.
    sent_s = 84 * 8 / 20e6 + 84 * 8 / 5e6
    assert measured.idle_latency_s == pytest.approx(0.04 + sent_s, rel=0.016)
    # A ping has a queue of its own, so it waits for a packet that is being sent, or two.
    assert measured.upload_latency_s is not None
    assert measured.download_latency_s is not None
    assert 0.04 < measured.upload_latency_s < 0.04 + sent_s + 3 * 1500 * 8 / 5e6
    assert 0.04 < measured.download_latency_s < 0.04 + sent_s + 3 * 1500 * 8 / 20e6


def test_a_full_queue_delays_pings_of_its_direction() -> None:
    scenario = fb.speed_test_scenario(down="20 Mbps", up="5 Mbps").override(
        {"topology.home.up.queue": {"drop_tail": {"limit": "100 packets"}}, "topology.home.down.queue": "fq_codel"}
    )
    measured = fb.speed_test(fb.run(scenario))
    full_s = 100 * 1500 * 8 / 5e6
    assert measured.upload_latency_s is not None
    assert measured.download_latency_s is not None
    # CUBIC reduces its window by 0.3, of which one flow at a time makes use.
    assert 0.7 * full_s < measured.upload_latency_s - 0.04 <= full_s * 1.02
    assert measured.download_latency_s < 0.05


def test_the_time_before_the_measurement_does_not_count(result: fb.Result) -> None:
    def sampled(name: str, of: dict[tuple[float, float], float]) -> fb.Series:
        values = np.zeros(380)
        for (start_s, end_s), bps in of.items():
            values[round(start_s * 10) : round(end_s * 10)] = bps
        return fb.Series("flow", name, "goodput_bps", 0.1, 0.1, values)

    # Downloads are from 3 s to 13 s and are measured from 4.5 s on, uploads from 18 s to 28 s, from 21 s on.
    series = (
        sampled("TCP download-0", {(3.0, 4.5): 9e6, (4.5, 13.0): 4e6, (13.0, 14.0): 8e6}),
        sampled("TCP download-1", {(4.5, 13.0): 1e6}),
        sampled("TCP upload-0", {(18.0, 21.0): 5e6, (21.0, 24.5): 1e6, (24.5, 28.0): 2e6}),
        sampled("another", {(0.0, 30.0): 5e6}),
    )
    measured = fb.speed_test(replace(result, all_series=series))
    assert (measured.download_bps, measured.upload_bps) == pytest.approx((5e6, 1.5e6), rel=1e-12)


@pytest.mark.parametrize(("answered", "shown"), [(8, False), (9, True), (17, True)])
def test_pings_of_which_most_have_no_answer_have_no_latency(result: fb.Result, answered: int, shown: bool) -> None:
    of_upload = pl.when(pl.col("name") == "Ping upload")
    few = result.pings.with_columns(
        of_upload.then(answered).otherwise(pl.col("answered")).alias("answered"),
        of_upload.then(18).otherwise(pl.col("sent")).alias("sent"),
    )
    measured = fb.speed_test(replace(result, pings=few))
    assert (measured.upload_latency_s is not None) == shown
    assert measured.download_latency_s is not None
    (table,) = (table for table in terminal_tables(measured, None) if isinstance(table, Table))
    *_, latency = (list(column.cells) for column in table.columns)
    assert (latency[2] == "> 10 s") != shown


def test_a_slow_line_has_the_latency_of_its_queue() -> None:
    # A window of at most 64 packets fits the queue, which delays pings by up to 64 x 1500 B / 200 kb/s = 3.84 s.
    scenario = fb.speed_test_scenario(down="1 Mbps", up="200 kbps").override(
        {"topology.home.up.queue": {"drop_tail": {"limit": "64 packets"}}}
    )
    run = fb.run(scenario)
    measured = fb.speed_test(run)
    full_s = 64 * 1500 * 8 / 200e3
    assert measured.upload_latency_s is not None
    assert 0.6 * full_s < measured.upload_latency_s < 1.1 * full_s
    # No ping still waits for its answer when the run ends: all were answered or dropped.
    dropped = run.flows.filter(pl.col("name") == "Ping upload").get_column("packets_dropped").item()
    sent, answered = run.pings.filter(pl.col("name") == "Ping upload").select("sent", "answered").row(0)
    assert (sent, answered) == (35, 35 - dropped)


def test_a_path_of_seconds_has_a_latency() -> None:
    measured = fb.speed_test(fb.run(fb.speed_test_scenario(rtt="3 s")))
    for latency_s in (measured.idle_latency_s, measured.download_latency_s, measured.upload_latency_s):
        assert latency_s == pytest.approx(3.0, rel=0.016)


TIMES = [
    ({"duration": "48 s"}, r"`flows.TCP download.stop` is 13 s; .*`duration` of 48 s it is 18 s"),
    (
        {"flows.TCP upload.start": "12 s", "flows.Ping upload.start": "15 s", "duration": "20 s"},
        "no speed test has a `duration` of 20 s",
    ),
    ({"warmup": "1 s"}, "`warmup` is 1 s; .* it is 0 s"),
    ({"probes.interval": "1 s"}, "`probes.interval` is 1 s; .* it is 100 ms"),
    ({"flows.TCP upload.start": "19 s"}, "`flows.TCP upload.start` is 19 s; .* it is 18 s"),
    ({"flows.TCP upload.stop": "27 s"}, "`flows.TCP upload.stop` is 27 s; .* it is 28 s"),
    ({"flows.TCP download.stagger": "0.2 s"}, "`flows.TCP download.stagger` is 0.2 s; .* it is 300 ms"),
    ({"flows.TCP download.count": 8}, "`flows.TCP download.count` is 8; .* it is 6"),
    (
        {"flows.Ping idle.transport": {"udp": {"ping": {}}}},
        "`flows.Ping idle.transport.udp.ping.timeout` is 2 s; .* it is 10 s",
    ),
]


@pytest.mark.parametrize(("changes", "message"), TIMES)
def test_a_scenario_with_other_times_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(fb.InputError, match=f"speedtest.toml: {message}(.|\n)*--length"):
        check(fb.speed_test_scenario().override(changes))


def test_times_may_be_written_otherwise() -> None:
    changes = {"flows.TCP download.stagger": "0.3 s", "probes.interval": "0.1 s", "flows.TCP download.transport": "tcp"}
    check(fb.speed_test_scenario().override(changes))
    check(fb.speed_test_scenario(length="4.5 s"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"duration": "48 s"}, "the start of TCP upload-0` is 18 s; .* it is 23 s"),
        ({"duration": "22 s"}, "no speed test has a `duration` of 22 s"),
        ({"warmup": "1 s"}, "`warmup` is 1 s; .* it is 0 s"),
        ({"probes.interval": "0.2 s"}, "`probes.interval` is 200 ms; .* it is 100 ms"),
        ({"flows.TCP download.stagger": "0.2 s"}, "the start of TCP download-1` is 3.2 s; .* it is 3.3 s"),
        ({"flows.TCP download.count": 8}, "`flows.TCP download.count` is 8; .* it is 6"),
    ],
)
def test_a_result_with_other_times_is_refused(changes: dict[str, object], message: str) -> None:
    scenario = fb.speed_test_scenario(down="2 Mbps", up="1 Mbps")
    with pytest.raises(fb.InputError, match=message):
        fb.speed_test(fb.run(scenario.override(changes)))


def test_other_results_are_refused(result: fb.Result, small: fb.Scenario) -> None:
    with pytest.raises(fb.InputError, match="no series of flows `TCP download`"):
        fb.speed_test(fb.run(small, overrides={"duration": "2 s"}))
    with pytest.raises(fb.InputError, match="no ping `Ping idle`"):
        fb.speed_test(replace(result, pings=pl.DataFrame()))


def test_the_command_prints_rates_and_latencies(forebay: Command, tmp_path: Path) -> None:
    line = ("--down", "8 Mbps", "--up", "4 Mbps", "--rtt", "20 ms", "--queue", "cake", "--length", "4 s")
    shown = forebay("speedtest", *line, "--out", tmp_path / "cake")
    assert shown.returncode == 0
    assert "8 Mbps down, 4 Mbps up, 20 ms, cake" in shown.stdout
    assert [row.split()[0] for row in shown.stdout.splitlines() if row.split()][-3:] == ["idle", "download", "upload"]
    assert max(len(row) for row in shown.stdout.splitlines()) <= 80
    as_json = json.loads(forebay("speedtest", *line, "--json").stdout)
    assert as_json == json.loads(fb.speed_test(fb.load(tmp_path / "cake")).to_json())
    assert 0.9 * 8e6 * PAYLOAD < as_json["download_bps"] < 8e6 * PAYLOAD
    assert f"{tmp_path / 'cake' / 'under-load.png'}" in forebay("plot", tmp_path / "cake").stdout


def test_a_changed_copy_of_the_scenario_is_measured(forebay: Command, tmp_path: Path) -> None:
    printed = forebay("speedtest", "--length", "4 s", "--scenario")
    assert (printed.returncode, printed.stderr) == (0, "")
    file = tmp_path / "copy.toml"
    file.write_text(printed.stdout.replace("10 Mbps", "5 Mbps"), encoding="utf-8")
    measured = json.loads(forebay("speedtest", file, "--json", "--seed", "3").stdout)
    assert (measured["scenario"], measured["seed"]) == ("speedtest", 3)
    assert 4e6 < measured["upload_bps"] < 5e6
    host = 'delay = "10 us" }'
    file.write_text(printed.stdout.replace(host, 'delay = "10 us", queue = "drop_tail" }'), encoding="utf-8")
    assert "warning: `TCP upload-0` sends by `client->gateway`" in forebay("speedtest", file).stdout
    file.write_text(printed.stdout.replace("Ping upload", "Pong"), encoding="utf-8")
    done = forebay("speedtest", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not the scenario of a speed test: it has no flow `Ping upload`" in done.stderr
    file.write_text(printed.stdout.replace('interval = "100 ms"', 'interval = "1 s"'), encoding="utf-8")
    done = forebay("speedtest", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`probes.interval` is 1 s" in done.stderr


def test_impossible_tests_are_refused(forebay: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    for options, message in [
        (("--queue", "codl"), "codel"),
        (("--queue", "red = {}"), "is not the bare name of a discipline"),
        (("--rtt", "10 us"), "too short"),
        (("--length", "3 s"), "at least 4 s"),
        (("--length", "4.55 s"), "in steps of 0.1 s"),
        (("--up", "fast"), "up: expected a rate above 0, and found 'fast'"),
        (("--down", "0 bps"), "down: expected a rate above 0"),
        (("--down", '5 Mbps" }'), "down: expected a rate above 0"),
        (("--rtt", "_ s"), "rtt: expected a time above 0"),
        (("--scenario", "--seed", "0"), "--seed is for a run"),
        (("--scenario", "--json"), "--json is for a run"),
        (("--scenario", "--out", tmp_path / "out"), "--out is for a run"),
        ((file, "--up", "5 Mbps"), "--up is for a test without a scenario file"),
        ((file, "--scenario"), "--scenario is for a test without a scenario file"),
    ]:
        done = forebay("speedtest", *options)
        assert (done.returncode, done.stdout) == (2, ""), options
        assert message in done.stderr, options
