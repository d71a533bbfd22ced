"""Videos and web pages from a scenario to tables, files and figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forebay as fb
from conftest import Command

SCENARIO = """
duration = "40 s"

[topology.star]
access = { rate = "1 Gbps", delay = "5 ms" }
bottleneck = { rate = "RATE", delay = "10 ms", queue = "fq_codel" }

[[flows]]
name = "film"
transport = "tcp"
app.video = { bitrates = ["1 Mbps", "3 Mbps"] }

[[flows]]
name = "pages"
transport = "tcp"
app.web = { reading = "1 s" }

[probes]
interval = "500 ms"
series = ["flows"]
"""


def run(rate: str) -> fb.Result:
    return fb.run(fb.Scenario.from_toml(SCENARIO.replace("RATE", rate)))


def test_tables_of_videos_and_pages_survive_files_and_seeds(tmp_path: Path) -> None:
    result = run("20 Mbps")
    (video,) = result.videos.to_dicts()
    assert video["name"] == "film"
    assert video["stalls"] == 0
    assert 1e6 < video["bitrate_mean_bps"] <= 3e6
    (pages,) = result.pages.to_dicts()
    assert pages["loaded"] <= pages["requested"] <= pages["loaded"] + 1
    assert 0.02 < pages["load_p50_s"] <= pages["load_p95_s"] <= pages["load_max_s"]
    result.save(tmp_path / "run")
    loaded = fb.load(tmp_path / "run")
    assert loaded.videos.equals(result.videos)
    assert loaded.pages.equals(result.pages)
    assert loaded.pings.is_empty()
    seeds = fb.run(fb.Scenario.from_toml(SCENARIO.replace("RATE", "20 Mbps")), seeds=2)
    assert seeds.videos["bitrate_mean_bps"].item() > 1e6
    assert "load_p95_s_ci95" in seeds.pages.columns


def test_figures_show_bitrate_and_buffer(tmp_path: Path) -> None:
    result = run("700 kbps")
    assert result.videos["stalls"].item() > 0
    bitrates = result.series("flow", "film", "video_bitrate_bps")["value"]
    assert bitrates.min() == 0.0
    assert bitrates.max() == 1e6
    figure = result.plot.videos()
    assert [axes.get_ylabel().split()[0] for axes in figure.axes] == ["Bitrate", "Buffer"]
    assert "videos.png" in [path.name for path in result.plot.save_all(tmp_path, (".png",))]


def test_a_run_without_videos_has_no_such_figure() -> None:
    result = fb.run(fb.Scenario.from_toml(SCENARIO.replace("RATE", "20 Mbps").replace("app.video", "# app.video")))
    assert result.videos.is_empty()
    with pytest.raises(fb.InputError, match="the run recorded no videos"):
        result.plot.videos()


def test_results_of_older_versions_have_no_such_tables(forebay: Command, tmp_path: Path) -> None:
    run("20 Mbps").save(tmp_path / "run")
    file = tmp_path / "run" / "result.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    for table in ("videos", "pages", "pings"):
        del document[table]
        (tmp_path / "run" / f"{table}.parquet").unlink(missing_ok=True)
    file.write_text(json.dumps(document), encoding="utf-8")
    loaded = fb.load(tmp_path / "run")
    assert loaded.videos.is_empty()
    assert loaded.pages.is_empty()
    for command in ("plot", "report"):
        done = forebay(command, tmp_path / "run")
        assert done.returncode == 0, done.stderr


def test_reports_have_the_tables(forebay: Command, tmp_path: Path) -> None:
    run("20 Mbps").save(tmp_path / "run")
    done = forebay("report", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Videos" in page
    assert "Page load time" in page
