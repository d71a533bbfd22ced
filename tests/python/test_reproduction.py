"""`fb.reproduce`: the command's output and files, as frames, figures and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w

import forebay as fb
from experiment_samples import FILE
from forebay.cli.session import reproduce as reproduce_command
from forebay.experiment.reproduction import run_experiment
from forebay.runs.workers import Where
from test_experiment_reproduce import Simulator

EXPERIMENT: dict[str, Any] = {
    "id": "mine/flood",
    "title": "A flood beside a download",
    "paper": "None",
    "where": "Section 1",
    "seeds": 2,
    "quick": {"seeds": 1, "set": {"duration": "600 ms"}},
    "scenario": {
        "duration": "1 s",
        "topology": {
            "star": {
                "access": {"rate": "50 Mbps", "delay": "1 ms"},
                "bottleneck": {"rate": "10 Mbps", "delay": "1 ms"},
            }
        },
        "flows": [
            {"name": "tcp", "transport": "tcp"},
            {"name": "flood", "transport": {"udp": {"packet": "1000 B", "constant": {"rate": "20 Mbps"}}}},
        ],
    },
    "choices": [{"what": "the buffer", "value": "20 packets", "why": "Not given."}],
    "variants": [
        {"name": "drop-tail", "set": {"topology.star.bottleneck.queue.drop_tail.limit": "20 packets"}},
        {"name": "DRR", "set": {"topology.star.bottleneck.queue": "drr"}},
    ],
    "metrics": {"tcp": {"kind": "column", "group": "tcp", "column": "goodput_bps", "unit": "Mb/s"}},
    "tables": [{"title": "Goodput", "columns": [{"label": "tcp", "metric": "tcp"}], "paper": {"DRR": [5.0]}}],
    "figures": [{"file": "bars", "title": "t", "kind": "bars", "y_label": "y", "table": "Goodput"}],
    "claims": [
        {
            "id": "mine/fair",
            "where": "Section 1",
            "paper": "half the link",
            "band": "4 to 6 Mb/s",
            "checks": [{"metric": "tcp", "variants": ["DRR"], "band": {"min": 4, "max": 6}}],
        },
        {
            "id": "mine/starved",
            "where": "Section 1",
            "paper": "half the link, without fair queueing too",
            "band": "4 to 6 Mb/s",
            "checks": [{"metric": "tcp", "variants": ["drop-tail"], "band": {"min": 4, "max": 6}}],
        },
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "flood.toml"
    path.write_text(tomli_w.dumps(EXPERIMENT), encoding="utf-8")
    return path


def test_an_experiment_runs_and_its_claims_are_judged(file: Path) -> None:
    steps: list[tuple[int, int]] = []
    done = fb.reproduce(file, progress=lambda *step: steps.append(step))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert (done.experiment, done.seeds, done.quick) == ("mine/flood", 2, False)
    verdicts = dict(done.claims.select("claim", "verdict").iter_rows())
    assert verdicts == {"mine/fair": "reproduced", "mine/starved": "not reproduced"}
    assert not done.all_hold
    fair, starved = done.values.iter_rows(named=True)
    assert 4 < fair["value"] < 6
    assert (fair["holds"], starved["holds"], fair["unit"]) == (True, False, "Mb/s")
    assert done.tables.select("row", "paper").rows() == [("drop-tail", None), ("DRR", 5.0)]
    assert done.tables["measured"].to_list() == [starved["value"], fair["value"]]
    assert done.choices.rows() == [("the buffer", "20 packets", "Not given.")]
    assert repr(done) == "<Reproduction 'mine/flood': 2 claims: 1 reproduced, 1 not reproduced>"


def test_a_notebook_shows_claims_and_figures(file: Path) -> None:
    done = fb.reproduce(file, quick=True)
    page = done._repr_html_()
    for words in ("A flood beside a download", "quick: 1 seed", "mine/starved", "not reproduced", "half the link"):
        assert words in page
    assert done.figures == ("bars",)
    for figure in (done.plot(), done.plot("bars")):
        assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(fb.InputError, match=r"no figure 'lines'\nhint: it has bars"):
        done.plot("lines")


def test_it_agrees_with_the_command_and_continues_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "experiments" / "sample" / "one.toml"
    path.parent.mkdir(parents=True)
    path.write_text(tomli_w.dumps({**FILE, "figures": FILE["figures"][:1]}))
    monkeypatch.chdir(tmp_path)
    assert reproduce_command(["sample/one"], simulate=Simulator(), out=tmp_path / "out", as_json=True) == 0
    (printed,) = json.loads(capsys.readouterr().out)["experiments"]
    again = Simulator()
    arguments: dict[str, Any] = {"quick": False, "seeds": None, "where": Where(), "progress": None}
    done = run_experiment("sample/one", **arguments, out=tmp_path / "out", allow_python=False, simulate=again)
    assert again.runs == []
    assert done.to_dict() == printed
    run_experiment("sample/one", **arguments, out=tmp_path / "fresh", allow_python=False, simulate=Simulator())
    written = [
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.suffix in (".md", ".json")}
        for folder in (tmp_path / "out", tmp_path / "fresh")
    ]
    assert len(written[0]) == 3
    assert written[0] == written[1]
    assert sorted(path.name for path in (tmp_path / "out" / "sample" / "one" / "scenarios").iterdir()) == sorted(
        path.name for path in (tmp_path / "fresh" / "sample" / "one" / "scenarios").iterdir()
    )
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dbl/tabel2", {}, "did you mean dbl/table2"),
        ("dbl", {}, r"`dbl` names \d+ experiments\nhint: name one of them: dbl/cbq, "),
        ("dbl/table2", {"seeds": 0}, "seeds: must be from 1"),
        ("absent.toml", {}, "cannot be read"),
    ],
)
def test_bad_input_is_told_and_writes_nothing(tmp_path: Path, name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(fb.InputError, match=message):
        fb.reproduce(name, **options, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_metric_that_finds_nothing_is_shown_in_its_file(file: Path) -> None:
    file.write_text(file.read_text().replace("goodput_bps", "speed"), encoding="utf-8")
    with pytest.raises(fb.InputError, match=r"has no column `speed`(.|\n)*\[metrics.tcp\]"):
        fb.reproduce(file, quick=True)


def test_the_list_has_what_can_be_reproduced() -> None:
    listed = fb.list_experiments()
    row = listed.row(by_predicate=pl.col("experiment") == "dbl/table2", named=True)
    assert row["claims"] == 5
    assert row["where"] == "Table 2, section 4.2"
