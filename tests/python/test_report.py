"""The input of a report from folders, before anything is drawn."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import forebay as fb
from conftest import ETHERNET, SMALL, Command
from forebay.reporting.axes import axes_of
from forebay.reporting.folders import labels, sections_of
from forebay.reporting.over_time import fairness_over_time, over_time, queues_over_time
from forebay.reporting.page import html_of
from forebay.reporting.parts import Charts, Heat, Line, Lines, Rows, Section, Table
from forebay.reporting.repeat import options_of
from forebay.reporting.tables import table_of
from forebay.reporting.thin import MOST_CELLS, fitted, thinned
from forebay.sweeps.axes import Vary
from forebay.sweeps.labels import value_label
from report_folders import HOSTILE, write_folders


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_folders(tmp_path_factory.mktemp("finished"))


def charts_of(section: Section) -> dict[str, Lines | Rows | Heat]:
    """By their titles; of those of single groups of flows, which are folded, none."""
    parts = [part for part in section.parts if isinstance(part, Charts) and not part.heading.startswith("Flows of")]
    return {chart.title: chart for part in parts for chart in part.charts}


def tables_of(section: Section) -> dict[str, Table]:
    return {part.heading: part for part in section.parts if isinstance(part, Table)}


def test_a_run_has_all_its_rows_and_columns_and_its_series(folders: dict[str, Path]) -> None:
    (section,) = sections_of([folders["plain"]])
    result = fb.load(folders["plain"])
    tables = tables_of(section)
    assert len(tables["Flows"].rows) == result.flows.height
    assert len(tables["Flows"].heads) == result.flows.width
    assert [row[0].text for row in tables["Flows"].rows] == result.flows.get_column("name").to_list()
    charts = charts_of(section)
    (series,) = result.find_series("queue", "bottleneck", "length_packets")
    queue = charts["Queues over time"]
    assert isinstance(queue, Lines)
    line = next(line for line in queue.lines if line.name == "bottleneck")
    assert np.array_equal(line.y, series.values)
    assert queue.shade_to == 0.5
    drawn = sum(
        len(chart.lines) for chart in charts.values() if isinstance(chart, Lines) and "Delay" not in chart.title
    )
    panels: dict[tuple[str, str], list[bool]] = {}
    for one in result.all_series:
        panels.setdefault((one.kind, one.quantity), []).append(bool(np.nan_to_num(one.values).any()))
    # Queues and links that are zero all the time are left out; of flows, all or none.
    alive = [
        sum(found) if kind in ("queue", "link") else len(found) for (kind, _), found in panels.items() if any(found)
    ]
    assert drawn == sum(alive) + 1  # and fairness
    assert section.repeat == f"forebay run {folders['plain']}/scenario.toml --seed 1"


def test_what_repeats_a_run_repeats_it(folders: dict[str, Path], forebay: Command, tmp_path: Path) -> None:
    (section,) = sections_of([folders["red"]])
    words = section.repeat.split()[1:]
    assert forebay(*words, "--out", "again").returncode == 0
    assert fb.load(tmp_path / "again").digest == fb.load(folders["red"]).digest


def test_several_runs_stand_beside_each_other(folders: dict[str, Path]) -> None:
    together, *single = sections_of([folders["plain"], folders["red"]])
    assert [section.heading for section in single] == ["plain", "red"]
    totals = tables_of(together)["All flows and the longest queue"]
    assert [row[0].text for row in totals.rows] == ["plain", "red"]
    queue = charts_of(together)["Queue bottleneck over time"]
    assert isinstance(queue, Lines)
    assert [line.name for line in queue.lines] == ["plain", "red"]
    goodput = charts_of(together)["Goodput of groups over time"]
    assert isinstance(goodput, Lines)
    red = fb.load(folders["red"])
    tcp = red.flows.filter(pl.col("group") == "tcp")["name"].to_list()
    rates = [one.values for one in red.find_series("flow", None, "goodput_bps") if one.name in tcp]
    line = next(line for line in goodput.lines if line.name == "red: tcp")
    assert line.y * 1e6 == pytest.approx(np.sum(rates, axis=0))


def test_a_sweep_is_drawn_along_its_axes_with_intervals(folders: dict[str, Path]) -> None:
    (section,) = sections_of([folders["sweep"]])
    sweep = fb.Sweep.load(folders["sweep"])
    charts = charts_of(section)
    jain = charts["Jain against count"]
    assert isinstance(jain, Lines)
    assert [line.name for line in jain.lines] == [
        f"{queue}, rate {rate} Mbps" for queue in ("drop_tail", "red") for rate in (5, 10, 20)
    ]
    row = sweep.points.row(9, named=True)
    assert (row["queue"], row["flows.tcp.count"]) == ("red", 2)
    line = next(line for line in jain.lines if line.name == f"red, rate {row['topology.star.bottleneck.rate']}")
    assert line.x.tolist() == [1.0, 2.0]
    assert line.y[1] == row["jain"]
    assert line.low is not None
    assert line.y[1] - line.low[1] == pytest.approx(row["jain_ci95"])
    heat = charts["Jain: red"]
    assert isinstance(heat, Heat)
    assert (list(heat.x_names), list(heat.y_names)) == (["1", "2"], ["5", "10", "20"])
    keys = ("flows.tcp.count", "topology.star.bottleneck.rate", "jain")
    rows = sweep.points.filter(pl.col("queue") == "red").select(keys).rows()
    known = {(count, rate): value for count, rate, value in rows}
    assert heat.values.tolist() == [[known[count, f"{rate} Mbps"] for count in (1, 2)] for rate in (5, 10, 20)]
    other = charts["Jain: drop_tail"]
    assert isinstance(other, Heat)
    assert other.span == heat.span == (sweep.points.get_column("jain").min(), sweep.points.get_column("jain").max())
    assert "Queue bottleneck over time" in charts
    assert len(tables_of(section)["Single runs"].rows) == 24


def test_points_with_equal_results_are_both_drawn_over_time(tmp_path: Path) -> None:
    scenario = fb.Scenario.from_toml(SMALL).override({"duration": "2 s", "traces": []})
    swept = fb.sweep(scenario, {"description": ["one", "two"]}, seeds=1, out=tmp_path)
    assert swept.runs.get_column("digest").n_unique() == 1
    (section,) = sections_of([tmp_path])
    (over_time,) = [part for part in section.parts if isinstance(part, Charts) and part.heading == "Over time"]
    lines = [chart for chart in over_time.charts if isinstance(chart, Lines)]
    assert lines
    assert all([line.name for line in chart.lines] == ["description one", "description two"] for chart in lines)


def test_samples_are_points_and_failures_are_told(tmp_path: Path) -> None:
    short = fb.Scenario.from_toml(SMALL).override({"duration": "2 s", "traces": [], "probes.series": []})
    vary: Vary = {
        "flows.bf.transport.udp.constant.rate": "uniform:1000001 bps:20000000 bps",
        "flows.tcp.count": "uniform:1:9",
    }
    fb.sweep(short, vary, samples=5, seeds=1, out=tmp_path)
    charts = charts_of(sections_of([tmp_path])[0])
    against = [chart for title, chart in charts.items() if title.startswith("Jain against")]
    assert {chart.shape for chart in against if isinstance(chart, Lines)} == {"points"}
    assert len(against) == 2


def test_claims_have_their_verdicts(folders: dict[str, Path]) -> None:
    (section,) = sections_of([folders["claims"]])
    tables = tables_of(section)
    assert [(row[0].text, row[-1].text, row[-1].tone) for row in tables["Claims"].rows] == [
        ("paper/fair", "reproduced", "good"),
        ("paper/fast", "not reproduced", "bad"),
    ]
    assert tables["Values behind the claims"].rows[1][-1].text == "12"
    assert section.repeat == "forebay reproduce paper/table1 --seeds 3 --quick"
    # Without a figure the page needs no script that draws.
    assert len(html_of("claims", [section])) < 50_000


def test_a_replay_is_reported(tmp_path: Path) -> None:
    capture = Path(__file__).resolve().parents[2] / "examples/belligerent.pcap.gz"
    fb.replay(capture, rate="1 Mbps", queue=["dbl", "red"], out=tmp_path)
    (section,) = sections_of([tmp_path])
    queues = tables_of(section)["Queues"]
    assert [row[0].text for row in queues.rows] == ["dbl", "red"]
    reasons = [head.name for head in queues.heads if head.name.startswith("Dropped ")]
    assert "Dropped belligerent" in reasons
    assert "Dropped evicted" not in reasons  # neither queue drops for this reason
    assert "Length mean" in charts_of(section)
    delays = charts_of(section)["Delay: cumulative distribution"]
    assert isinstance(delays, Lines)
    assert [line.name for line in delays.lines] == ["dbl", "red"]


def test_a_replay_opens_with_its_losses_and_is_repeated(forebay: Command, tmp_path: Path) -> None:
    capture = Path(__file__).resolve().parents[2] / "examples/belligerent.pcap.gz"
    queues = {"small": {"drop_tail": {"limit": "20 packets"}}, "RED": {"red": {"gentle": True}}}
    first = fb.replay(capture, rate="20 Mbps", queue=queues, interval="100 ms", out=tmp_path / "first")
    (section,) = sections_of([tmp_path / "first"])
    lost = first.queues.item(0, "packets_dropped") / first.packets
    assert section.conclusion[0].startswith(f"small drops {100 * lost:.3g} % of the packets.")
    assert "UDP 10.77.1.2:46743" in section.conclusion[2]
    assert forebay(*shlex.split(section.repeat)[1:], "--out", "again").returncode == 0
    again = fb.ReplayResult.load(tmp_path / "again")
    assert again.queues.equals(first.queues)
    assert again.find_series("RED")[0].interval_s == 0.1


def test_an_ethernet_shows_pause_memory_and_its_congested_ports(ethernet: fb.Result, tmp_path: Path) -> None:
    ethernet.save(tmp_path)
    (section,) = sections_of([tmp_path])
    charts = charts_of(section)
    assert "Ports stopped by PAUSE" not in charts  # no port of the switch is stopped
    memory = charts["Memory of ports"]
    assert isinstance(memory, Lines)
    assert (memory.x_label, memory.y_label) == ("Time (ms)", "Memory (kB)")
    assert memory.lines[0].x[-1] == pytest.approx(20.0)
    queues = charts["Queues over time"]
    assert isinstance(queues, Lines)
    assert queues.lines[0].name == "SW->3"
    assert tables_of(section)["Queues"].rows[0][0].text == "SW->3"
    assert "left out" in queues.note
    assert "SW->3" in section.conclusion[0]
    assert any("stopped by PAUSE, the adapter of" in sentence for sentence in section.conclusion)


def test_means_over_ports_are_called_so(tmp_path: Path, forebay: Command) -> None:
    scenario = fb.Scenario.from_toml(ETHERNET).override({"duration": "4 ms", "probes.series": []})
    rates = {"topology.ethernet.link.rate": ["10 Gbps", "20 Gbps", "40 Gbps"]}
    swept = fb.sweep(scenario, rates, seeds=2, out=tmp_path / "sweep")
    assert swept.several_queues
    assert fb.Sweep.load(tmp_path / "sweep").several_queues
    (section,) = sections_of([tmp_path / "sweep"])
    charts = charts_of(section)
    chart = charts["Mean utilization of all ports against rate"]
    assert isinstance(chart, Lines)
    # 10, 20 and 40 have equal ratios.
    assert (chart.y_label, chart.x_log) == ("Mean utilization of all ports (%)", True)
    assert "Mean length of all queues against rate" in charts
    assert not any("Utilization" in text for text in (*charts, *section.conclusion))
    heads = [head.name for table in tables_of(section).values() for head in table.heads]
    assert "Mean utilization of all ports" in heads
    assert "Utilization" not in heads
    (tmp_path / "ethernet.toml").write_text(ETHERNET)
    done = forebay("sweep", "ethernet.toml", "--vary", "flows.victim.transport.frames.rate=1 Gbps,2 Gbps", "--seeds", 1)
    assert "Mean of all ports" in done.stdout
    assert "Link" not in done.stdout


def test_axes_of_equal_ratios_are_logarithmic() -> None:
    def is_log(*values: int) -> bool:
        frame = pl.DataFrame({"flows.tcp.count": values})
        swept = fb.Sweep("one", None, ("flows.tcp.count",), (), frame, frame, "")
        return axes_of(swept)[0].log

    assert is_log(1, 2, 4, 8)
    assert is_log(1, 10, 100)
    assert is_log(1, 5, 25, 26)
    assert not is_log(1, 2)
    assert not is_log(10, 20, 30)
    assert not is_log(0, 1, 2, 4)
    assert not is_log(100, 101, 102)


def test_delays_of_a_run_are_steps_of_the_histogram(folders: dict[str, Path]) -> None:
    result = fb.load(folders["plain"])
    chart = charts_of(sections_of([folders["plain"]])[0])["Delay: cumulative distribution"]
    assert isinstance(chart, Lines)
    assert [line.name for line in chart.lines] == ["tcp", "bf"]
    for line in chart.lines:
        counted = result.delays.filter(pl.col("group") == line.name)
        assert len(line.x) == 2 * counted.height
        assert (line.y[0], line.y[-1]) == (0.0, 100.0)
        assert line.y[1] == pytest.approx(100 * counted.item(0, "packets") / counted.get_column("packets").sum())


def test_values_of_an_axis_are_put_into_words() -> None:
    assert value_label("{ islip = { iterations = 1 } }") == "islip, 1 iteration"
    assert value_label("{islip={iterations=4}}") == "islip, 4 iterations"
    assert value_label('{ red = { gentle = true, limit = "20 packets" } }') == "red, gentle, limit 20 packets"
    assert value_label("10 Mbps") == "10 Mbps"
    assert value_label(0.30000000000000004) == "0.3"


def test_queues_over_time_are_the_busiest_and_not_empty() -> None:
    def lines(*values: float) -> list[Line]:
        return [Line("one", np.arange(2e-3, 6e-3, 2e-3), np.array(values))]

    charts = queues_over_time({"short": lines(1, 1), "empty": lines(0, 0), "long": lines(0, 9)})
    assert [chart.title for chart in charts] == ["Queue long over time", "Queue short over time"]
    assert charts[0].x_label == "Time (ms)"
    assert charts[0].lines[0].x == pytest.approx([2, 4])


def test_what_needs_python_is_repeated_with_leave() -> None:
    assert options_of(SMALL) == []
    assert options_of(SMALL.replace("queue.dbl = {}", 'queue.python = { class = "a:B" }')) == ["--allow-python"]
    assert options_of("duration = 3") is None


def test_commands_in_a_conclusion_are_code() -> None:
    page = html_of("one", [Section("one", conclusion=["`forebay run <name>` shows more & more."])])
    assert "<li><code>forebay run &lt;name&gt;</code> shows more &amp; more.</li>" in page


def test_thinning_keeps_every_peak() -> None:
    values = np.zeros(100_003)
    values[77_777], values[5], values[100_002] = 9.0, -4.0, 2.0
    values[50:60] = np.nan
    line = thinned(Line("one", np.arange(100_003.0), values), 1000)
    assert len(line.x) <= 1000
    assert (np.nanmax(line.y), np.nanmin(line.y), line.y[-1]) == (9.0, -4.0, 2.0)
    assert line.x[np.nanargmax(line.y)] == 77_777
    assert (np.diff(line.x) > 0).all()
    short = Line("two", np.arange(9.0), np.arange(9.0))
    assert thinned(short, 100) is short


def test_a_large_page_says_what_it_left_out() -> None:
    frame = pl.DataFrame({"name": [f"flow-{index}" for index in range(50_000)], "packets_sent": range(50_000)})
    long = Lines("Long", "Time (s)", "Length", [Line("one", np.arange(1e6), np.arange(1e6))])
    (section,) = fitted([Section("large", parts=[table_of(frame, "Flows", "flows.parquet"), Charts("All", [long])])])
    table, charts = section.parts
    assert isinstance(table, Table)
    assert len(table.rows) == MOST_CELLS // 2
    assert table.note == "The first 30,000 of 50,000 rows: all are in flows.parquet."
    assert isinstance(charts, Charts)
    assert "Thinned from 1,000,000 to 4,000 values" in charts.charts[0].note
    page = html_of("large", [section])
    assert len(page) < 10_000_000


def test_many_flows_become_bands_of_groups() -> None:
    result = fb.run(fb.Scenario.from_toml(SMALL, overrides={"flows.tcp.count": 20, "duration": "2 s"}))
    entries = result.find_series("flow", None, "goodput_bps")
    groups = dict(result.flows.select("name", "group").rows())
    chart = over_time("Goodput", entries, groups=groups)
    assert {line.name for line in chart.lines} == {"tcp (20)", "bf"}
    of_tcp = np.vstack([one.values for one in entries if groups[one.name] == "tcp"]) / 1e6
    first = next(line for line in chart.lines if line.name == "tcp (20)")
    assert first.high is not None
    assert first.high == pytest.approx(of_tcp.max(axis=0))
    assert first.y == pytest.approx(np.median(of_tcp, axis=0))


def test_fairness_is_that_of_the_flows_alive(result: fb.Result) -> None:
    found = fairness_over_time(result.find_series("flow", None, "goodput_bps"), result.flows, "all")
    assert found is not None
    line, window_s = found
    assert window_s == pytest.approx(0.1)
    # Before the UDP flow begins, three flows of TCP share.
    rates = [one.values[6] for one in result.find_series("flow", None, "goodput_bps") if one.name != "bf"]
    assert line.y[6] == pytest.approx(np.sum(rates) ** 2 / (3 * np.sum(np.square(rates))))


def test_names_cannot_break_the_page(folders: dict[str, Path], tmp_path: Path) -> None:
    page = fb.report([folders["hostile"]], tmp_path / "page.html", title="</title><script>boom()</script>").read_text()
    assert "<img src=x" not in page
    assert "<script>boom" not in page
    assert "&lt;img src=x onerror=boom()&gt;" in page


def test_labels_are_distinct(tmp_path: Path) -> None:
    a, b = tmp_path / "a" / "run", tmp_path / "b" / "run"
    assert list(labels([a, b, a]).values()) == [str(a), str(b)]
    assert list(labels([a, tmp_path / "b"]).values()) == ["run", "b"]


def test_the_command(folders: dict[str, Path], forebay: Command, tmp_path: Path) -> None:
    shutil.copytree(folders["plain"], tmp_path / "plain")
    done = forebay("report", "plain", folders["red"], "--title", "Two & more")
    assert (done.returncode, done.stdout, done.stderr) == (0, "plain/report.html\n", "")
    assert "<h1>Two &amp; more</h1>" in (tmp_path / "plain/report.html").read_text(encoding="utf-8")
    done = forebay("report", "plain", "--out", "other.html")
    assert (done.returncode, done.stdout) == (0, "other.html\n")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nothing"], "nothing: there is no such folder"),
        (["empty"], "empty holds no run, replay, sweep, comparison or claims"),
        (["plain", "--out", "empty"], "empty is a folder"),
        (["plain", "--out", "no/such/page.html"], "no/such: there is no such folder"),
        (["damaged"], "damaged"),
        ([""], "no name"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    folders: dict[str, Path], forebay: Command, tmp_path: Path, arguments: list[str], named: str
) -> None:
    (tmp_path / "empty").mkdir()
    shutil.copytree(folders["plain"], tmp_path / "plain")
    shutil.copytree(folders["claims"], tmp_path / "damaged")
    (tmp_path / "damaged/claims.json").write_text('{"experiments": [{}]}')
    done = forebay("report", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("**/*.html"))


def test_nothing_of_it_is_loaded_before_it_is_asked_for() -> None:
    program = "import sys, forebay.cli.app, forebay; forebay.run; assert not {'bokeh', 'jinja2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_functions_are_not_hidden_by_modules_of_their_name() -> None:
    program = "from forebay.sweeps.result import Sweep; import forebay.reporting.page, forebay as fb; "
    program += "assert Sweep is fb.Sweep and fb.report.__name__ == 'report' and callable(fb.sweep)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_hostile_name_is_that_of_a_flow(folders: dict[str, Path]) -> None:
    assert HOSTILE in fb.load(folders["hostile"]).flows.get_column("group").to_list()
