"""Results: frames, series, files and figures."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import forebay as fb
from forebay.folder import staged

ACK_LINK = {"rate": "100 kbps", "delay": "1 ms"}


def test_frames_have_the_columns_of_the_contract(result: fb.Result) -> None:
    assert result.flows.get_column("name").to_list() == ["tcp-0", "tcp-1", "tcp-2", "bf"]
    assert result.flows.schema["packets_sent"] == pl.Int64
    assert result.flows.schema["goodput_bps"] == pl.Float64
    assert {"name", "discipline", "dropped_overflow", "length_mean_packets"} <= set(result.queues.columns)
    assert result.links.filter(pl.col("name") == "bottleneck").item(0, "utilization") > 0.5
    flood = result.queue_flows.filter((pl.col("queue") == "bottleneck") & (pl.col("flow") == "bf"))
    assert flood.item(0, "classified_at_s") > 1.0
    assert result.engine.packet_hops > result.engine.events / 10 > 0


def test_the_rows_of_flows_at_a_queue_add_up_to_it(small: fb.Scenario) -> None:
    """ACKs have rows of their own where they queue."""
    small = small.override({"duration": "3 s", "topology.star.reverse": {**ACK_LINK, "queue": "drop_tail"}})
    tables = fb.run(small)
    counters = ["packets_arrived", "packets_dropped", "packets_marked"]
    rows = tables.queue_flows.group_by("queue").agg(pl.col(counters).sum()).sort("queue")
    assert rows.rows() == tables.queues.select("name", *counters).sort("name").rows()
    directions = tables.queue_flows.group_by("queue").agg(pl.col("direction").unique()).sort("queue")
    assert directions.get_column("direction").to_list() == [["data"], ["acks"]]


def test_what_has_no_value_is_null(result: fb.Result) -> None:
    assert result.flows.get_column("finished_s").null_count() > 0
    assert not result.flows.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)
    assert json.loads(result.to_json())["flows"][0]["finished_s"] is None


def test_series_are_long_frames(result: fb.Result) -> None:
    frame = result.series("queue", "bottleneck", "length_packets")
    assert frame.columns == ["time_s", "name", "quantity", "value"]
    assert np.allclose(np.diff(frame.get_column("time_s").to_numpy()), 0.1)
    assert set(result.series("flow").get_column("name")) == {"tcp-0", "tcp-1", "tcp-2", "bf"}
    gauges = result.series("queue_flow", "bottleneck/bf")
    assert "credits" in set(gauges.get_column("quantity"))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("queues",), "queue, flow, link"),
        (("queue", "none"), "bottleneck"),
        (("queue", "bottleneck", "length"), "length_packets"),
    ],
)
def test_a_series_that_is_not_there(result: fb.Result, arguments: tuple[str, ...], named: str) -> None:
    with pytest.raises(fb.InputError, match=named):
        result.series(*arguments)  # type: ignore[arg-type]


def test_series_that_were_not_recorded(small: fb.Scenario) -> None:
    quiet = fb.run(small.override({"probes.series": ["links"], "duration": "2 s"}))
    with pytest.raises(fb.InputError, match=r'\[probes\] series = \["queues"\]'):
        quiet.plot.queue("bottleneck")


def test_numbers_come_without_copying(result: fb.Result) -> None:
    series = result.all_series[0]
    frame = pl.DataFrame({"value": series.values})
    assert np.shares_memory(frame.get_column("value").to_numpy(), series.values)


def test_save_and_load_give_the_same_result(result: fb.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    loaded = fb.load(tmp_path / "saved")
    assert loaded.to_dict() == result.to_dict()
    for table in ("flows", "queues", "links", "queue_flows"):
        assert getattr(loaded, table).equals(getattr(result, table))
    assert loaded.series("flow").equals(result.series("flow"))
    result.save(tmp_path / "saved")


def test_loading_what_is_no_result(tmp_path: Path, result: fb.Result) -> None:
    with pytest.raises(fb.InputError, match="no complete result"):
        fb.load(tmp_path)
    result.save(tmp_path)
    (tmp_path / "queues.parquet").write_bytes(b"PAR1")
    with pytest.raises(fb.InputError, match="cannot read the result"):
        fb.load(tmp_path)


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        with staged(folder) as staging:
            (staging / "half").touch()
            raise RuntimeError

    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "older").touch()
    for folder in (tmp_path / "kept", tmp_path / "a" / "b"):
        with pytest.raises(RuntimeError):
            fail(folder)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == ["kept", "kept/older"]


def test_progress_rises_and_its_exception_ends_the_run(small: fb.Scenario) -> None:
    seen: list[float] = []

    def progress(fraction: float) -> None:
        seen.append(fraction)
        if len(seen) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fb.run(small, overrides={"duration": "90 h", "probes.interval": "1 h"}, progress=progress)
    assert 0 <= seen[0] < seen[1] < seen[2] < 1


def test_other_threads_go_on_while_the_core_runs(small: fb.Scenario) -> None:
    stop = threading.Event()

    def progress(_fraction: float) -> None:
        if stop.is_set():
            raise InterruptedError

    def run() -> None:
        with pytest.raises(InterruptedError):
            fb.run(small, overrides={"duration": "90 h", "probes.interval": "1 h"}, progress=progress)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    # Counting is Python's work: it would not get far if a run held the interpreter's lock.
    assert sum(range(1_000_000)) > 0
    assert all(thread.is_alive() for thread in threads)
    stop.set()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()


def test_seeds_on_threads_give_the_digests_of_seeds_in_a_row(small: fb.Scenario) -> None:
    from concurrent.futures import ThreadPoolExecutor

    short = small.override({"duration": "2 s"})
    in_a_row = [fb.run(short, seed=seed).digest for seed in range(4)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda seed: fb.run(short, seed=seed).digest, range(4))) == in_a_row
    assert len(set(in_a_row)) == 4


def texts(figure: Figure) -> list[tuple[str, str]]:
    return [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]


def test_figures_have_data_and_labels(result: fb.Result) -> None:
    goodput = result.plot.goodput()
    assert texts(goodput) == [("Goodput (Mb/s)", "")]
    assert [tick.get_text() for tick in goodput.axes[0].get_yticklabels()] == ["tcp-0", "tcp-1", "tcp-2", "bf"]
    assert len(goodput.axes[0].patches) == 4
    assert texts(result.plot.delay()) == [("Delay (ms)", "")]
    queue = result.plot.queue("bottleneck")
    assert texts(queue) == [("Time (s)", "Length (packets)")]
    assert np.size(queue.axes[0].lines[0].get_ydata()) == 40
    flows = result.plot.series("flow", "tcp-0")
    assert {label for _, label in texts(flows)} == {"Goodput (Mb/s)", "Sent (Mb/s)", "Congestion window (kB)"}
    assert flows._repr_png_().startswith(b"\x89PNG")


def test_many_flows_become_groups_and_bands(small: fb.Scenario) -> None:
    crowd = fb.run(small.override({"flows.tcp.count": 30, "duration": "2 s"}))
    labels = [tick.get_text() for tick in crowd.plot.goodput().axes[0].get_yticklabels()]
    assert labels == ["tcp (30 flows)", "bf (1 flow)"]
    band = crowd.plot.series("flow", quantity="goodput_bps")
    assert band.axes[0].get_legend_handles_labels()[1] == ["median of 31, with their range"]


def test_delays_are_drawn_from_the_histogram_of_all_packets(result: fb.Result) -> None:
    frame = result.delay_distribution()
    assert frame.get_column("group").unique(maintain_order=True).to_list() == ["tcp", "bf"]
    for group, part in frame.partition_by("group", as_dict=True, maintain_order=True).items():
        flows = result.flows.filter(pl.col("group") == group[0])
        assert part.get_column("share").is_sorted()
        assert part.item(-1, "share") == 1.0
        assert part.item(-1, "delay_s") == pytest.approx(max(flows.get_column("delay_max_s").to_list()))
        median_s, medians_s = part.filter(pl.col("share") >= 0.5).item(0, "delay_s"), flows.get_column("delay_p50_s")
        assert min(medians_s.to_list()) / 1.04 <= median_s <= 1.04 * max(medians_s.to_list())
    (axes,) = result.plot.delay_distribution().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Delay (ms)", "Packets with no more (%)")
    assert [line.get_label() for line in axes.lines] == ["tcp", "bf"]
    counts = [frame.filter(pl.col("group") == group).height + 1 for group in ("tcp", "bf")]
    assert [np.size(line.get_ydata()) for line in axes.lines] == counts
    assert [np.asarray(line.get_ydata())[-1] for line in axes.lines] == [100.0, 100.0]


def test_a_result_of_an_older_version_has_no_distribution(result: fb.Result) -> None:
    older = replace(result, delays=pl.DataFrame())
    assert older.delay_distribution().is_empty()
    with pytest.raises(fb.InputError, match="no histogram of delays"):
        older.plot.delay_distribution()


def test_ports_of_an_ethernet_have_series_of_pause_and_memory(ethernet: fb.Result) -> None:
    share = ethernet.series("queue", "SW->3", "paused_share").get_column("value")
    assert share.max() == 0.0
    held = ethernet.series("queue", "SW->1", "memory_bytes").get_column("value").max()
    assert isinstance(held, float)
    assert 260e3 <= held <= ethernet.queues.filter(pl.col("name") == "SW->1").item(0, "memory_max_bytes")
    figure = ethernet.plot.ports()
    # The network has one switch, which stops only adapters.
    assert texts(figure) == [("", "Length (kB)"), ("Time (ms)", "Memory (kB)")]
    assert next(line.get_label() for line in figure.axes[0].lines) == "SW->3"


def test_saved_figures_leave_out_what_is_empty(ethernet: fb.Result, tmp_path: Path) -> None:
    names = [path.name for path in ethernet.plot.save_all(tmp_path, (".svg",))]
    assert next(name for name in names if name.startswith("queue-")) == "queue-SW--3.svg"
    lengths = {one.name: one.values.max() for one in ethernet.find_series("queue", None, "length_packets")}
    alive = [name for name, peak in lengths.items() if peak > 0]
    assert len([name for name in names if name.startswith("queue-")]) == len(alive) < len(lengths)
    assert {"ports.svg", "delay-distribution.svg"} <= set(names)
    # Without a scheme of congestion management there is no limiter to draw.
    assert {label for _, label in texts(ethernet.plot.series("flow"))} == {"Goodput (Gb/s)", "Sent (Gb/s)"}


def test_frames_convert_to_pandas(result: fb.Result) -> None:
    pytest.importorskip("pandas", reason="the extra forebay[pandas] is not installed")
    frame = result.flows.to_pandas()
    assert list(frame.columns) == result.flows.columns
    assert frame["goodput_bps"].tolist() == result.flows.get_column("goodput_bps").to_list()


def test_goodput_of_udp_counts_whole_packets(result: fb.Result) -> None:
    flow = result.flows.filter(pl.col("name") == "bf").row(0, named=True)
    measured_s = result.duration_s - result.warmup_s
    assert flow["goodput_bps"] == pytest.approx(flow["packets_delivered"] * 1000 * 8 / measured_s)
    assert flow["goodput_bps"] == flow["throughput_bps"]
    tcp = result.flows.filter(pl.col("name") == "tcp-0").row(0, named=True)
    assert tcp["goodput_bps"] < tcp["throughput_bps"]


def test_equal_figures_are_equal_files(result: fb.Result, tmp_path: Path) -> None:
    drawn = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        drawn.append([path.read_bytes() for path in result.plot.save_all(tmp_path / name)])
    assert drawn[0] == drawn[1]
