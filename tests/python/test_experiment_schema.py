"""Experiment files: accepted ones, and the messages for others."""

from __future__ import annotations

import copy
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from experiment_samples import FILE, SCENARIO, sample
from forebay.experiment.errors import ExperimentError
from forebay.experiment.load import (
    experiment_files,
    experiment_folder,
    list_experiments,
    load_experiment,
    select_experiments,
)
from forebay.experiment.plan import make_plan, put, scenario_text
from forebay.experiment.schema import Band
from forebay.runs.simulate import check


def written(tmp_path: Path, change: dict[str, Any]) -> Path:
    path = tmp_path / "one.toml"
    path.write_text(tomli_w.dumps({**copy.deepcopy(FILE), **change}))
    return path


def claim(**changes: Any) -> dict[str, Any]:
    return {"claims": [{**copy.deepcopy(FILE["claims"][0]), **changes}]}


def line(**changes: Any) -> dict[str, Any]:
    lines = [{"metric": "tcp", "label": "tcp", **changes}]
    return {"figures": [{"file": "f", "title": "t", "kind": "lines", "y_label": "y", "lines": lines}]}


LINES = """
id = "sample/one"
title = "One"
paper = "p"
where = "w"
seeds = 2
variants = [{ name = "A" }, { name = "B" }]

[scenario]
duration = "1 s"

[metrics]
tcp = { kind = "column", column = "goodput_bps" }
fair = { kind = "column", column = "goodput_bps", reduce = "jain" }

[[tables]]
title = "t"
columns = [
    { label = "l", metric = "tcp", decimals = 1 },
]

[[claims]]
id = "sample/one-tcp"
where = "w"
paper = "p"
band = "b"
checks = [
    { metric = "fair", band = { min = 1.0 } },
    { metric = "tcp", variants = ["B"], band = { min = 1.0 } },
]
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    experiment = load_experiment(written(tmp_path, {}))
    assert experiment.id == "sample/one"
    assert [point.x for point in experiment.points(quick=False) if point] == [1, 2, 4]
    assert [point.x for point in experiment.points(quick=True) if point] == [1, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 3}, "unknown key `seed`"),
        ({"seed": 3}, "did you mean `seeds`?"),
        ({"title": 3}, "`title` should be a valid string"),
        ({"seeds": 0}, "`seeds` should be greater than or equal to 1"),
        ({"id": "No Slash"}, "`id`"),
        (claim(checks=[]), "a claim needs `checks`, or the reason why it is `not_judged`"),
        (claim(seeds=3), "claim `sample/one-tcp`: needs 3 seeds, and the experiment has 2"),
        (claim(checks=[{"metric": "tcp", "band": {}}]), "a band needs at least one of"),
        (claim(checks=[{"metric": "udp", "band": {"min": 1}}]), "claim `sample/one-tcp`: there is no metric `udp`"),
        (claim(checks=[{"metric": {"kind": "colum"}, "band": {"min": 1}}]), "did you mean `column`?"),
        (claim(checks=[{"metric": {"knd": "mean"}, "band": {"min": 1}}]), "whose `kind` is one of column, series"),
        (
            claim(checks=[{"metric": {"kind": "column", "colunm": "goodput_bps"}, "band": {"min": 1}}]),
            "did you mean `column`?",
        ),
        (
            claim(checks=[{"metric": {"kind": "column", "column": "a", "reduce": "jian"}, "band": {"min": 1}}]),
            "did you mean `jain`?",
        ),
        (
            claim(checks=[{"metric": "tcp", "variants": ["C"], "band": {"min": 1}}]),
            "there is no variant `C`; there are A, B",
        ),
        ({"metrics": {"tcp": "bf", "bf": "tcp"}}, "refers to itself"),
        ({"variants": [{"name": "A"}, {"name": "A"}, {"name": "B"}]}, "variants: `A` is given twice"),
        ({"vary": {"name": "n", "values": [1], "quick": [2]}}, "`quick` holds 2"),
        ({"figures": [{"file": "f", "title": "t", "kind": "lines", "y_label": "y"}]}, "needs `lines`"),
        (
            {"claims": [], "sensitivity": [{"name": "s", "set": {"duration": "1 s"}, "why": "w"}]},
            "sensitivity: shows what becomes of claims, and there are none",
        ),
        (
            {"sensitivity": [{"name": "s", "set": {"duration": "1 s"}, "why": "w", "variants": ["C"]}]},
            "sensitivity `s`: there is no variant `C`; there are A, B",
        ),
        ({"variants": [{"name": "A", "x": [3]}, {"name": "B"}]}, "variant `A`: `x` holds 3, which is none of the axis"),
        (line(variants=["A", "B"]), "a line over `variants` needs their `number`"),
        (line(variants=["A", "B"], number="rate"), "figure `f`: the variant `B` has no number `rate`"),
        (line(variants=["A", "C"], number="rate"), "figure `f`: there is no variant `C`"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        load_experiment(written(tmp_path, change))
    # The message is broken into lines where it is long.
    assert message in re.sub(r"\n +[│·]? *", " ", str(caught.value))
    assert re.search(r"one\.toml:\d+:\d+", str(caught.value))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("sedes = 2", "seeds = 2"),
        ('title = "3', 'title = "'),
        ('metric = "udp"', 'metric = "tcp"'),
        ('variants = ["C"]', 'variants = ["B"]'),
        ('kind = "colum"', 'kind = "column"'),
        ('reduce = "jian"', 'reduce = "jain"'),
        ("decimals = -1", "decimals = 1"),
    ],
)
def test_the_line_that_is_wrong_is_shown(tmp_path: Path, wrong: str, right: str) -> None:
    text = LINES.replace(right, wrong, 1) if wrong != 'title = "3' else LINES.replace('title = "One"', wrong)
    assert text != LINES
    path = tmp_path / "one.toml"
    path.write_text(text)
    with pytest.raises(ExperimentError) as caught:
        load_experiment(path)
    number = next(index for index, it in enumerate(text.splitlines(), 1) if wrong in it)
    assert f"one.toml:{number}:" in str(caught.value)


def test_a_metric_over_runs_needs_a_scenario(tmp_path: Path) -> None:
    data = copy.deepcopy(FILE)
    del data["scenario"]
    path = tmp_path / "one.toml"
    path.write_text(tomli_w.dumps(data))
    with pytest.raises(ExperimentError, match=r"needs runs, and the file has no \[scenario\]"):
        load_experiment(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="cannot be read"):
        load_experiment(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("id = \n")
    with pytest.raises(ExperimentError, match=r"this is not TOML[\s\S]*broken.toml:1:"):
        load_experiment(broken)


def test_selection_by_id_paper_pattern_and_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/fig10", "a/fig9", "b/table1"):
        path = tmp_path / "experiments" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomli_w.dumps({**FILE, "id": name}))
    monkeypatch.chdir(tmp_path)

    def ids(*wanted: str) -> list[str]:
        return [f"{path.parent.name}/{path.stem}" for path in select_experiments(wanted)]

    assert ids("all") == ["a/fig9", "a/fig10", "b/table1"]
    assert ids("a") == ["a/fig9", "a/fig10"]
    assert ids("a/fig1*", "a") == ["a/fig10", "a/fig9"]
    assert [path.name for path in select_experiments(["somewhere/x.toml"])] == ["x.toml"]
    assert [listed.id for listed in list_experiments()] == ["a/fig9", "a/fig10", "b/table1"]
    with pytest.raises(ExperimentError, match="there is no experiment `c`\nhint: `forebay list experiments` names all"):
        select_experiments(["c"])
    for meant, named in {"tabel1": "b/table1", "a/fig99": "a/fig9", "B/table1": "b/table1"}.items():
        with pytest.raises(ExperimentError, match=f"did you mean {named}"):
            select_experiments([meant])


def test_an_id_must_match_the_file_name(tmp_path: Path) -> None:
    path = tmp_path / "experiments" / "sample" / "two.toml"
    path.parent.mkdir(parents=True)
    path.write_text(tomli_w.dumps(FILE))
    with pytest.raises(ExperimentError, match="must be `sample/two`"):
        load_experiment(path)


def test_the_experiments_of_the_papers_are_valid() -> None:
    files = experiment_files(experiment_folder())
    assert "dbl/table2" in files
    claims = [claim.id for path in files.values() for claim in load_experiment(path).claims]
    assert len(claims) == len(set(claims))


def test_the_scenarios_of_the_papers_are_valid() -> None:
    for path in experiment_files(experiment_folder()).values():
        experiment = load_experiment(path)
        for quick in (False, True):
            for text, name in {
                job.text: job.key.at.label() for job in make_plan(experiment, quick=quick, seeds=1).jobs
            }.items():
                check(text, f"{experiment.id} ({name})")


def test_band_bounds() -> None:
    inside = Band(min=1, max=2)
    assert inside.holds(1)
    assert inside.holds(2)
    assert not inside.holds(2.0001)
    assert not Band(above=0).holds(0)
    assert not Band(below=0).holds(0)
    assert Band(equals=200).holds(200)
    assert not Band(equals=200).holds(199.9)
    assert not Band(min=0).holds(math.nan)
    assert Band(min=0).holds(math.inf)


def test_band_margin_and_text() -> None:
    assert Band(min=1, max=4).margin(3) == 1
    assert Band(min=1, max=4).margin(6) == -2
    assert Band(equals=5).margin(7) == -2
    assert Band(min=13, max=22).text("Mb/s") == "13 to 22 Mb/s"
    assert Band(above=0).text() == "> 0"


def test_settings_are_put_by_path() -> None:
    scenario = copy.deepcopy(SCENARIO)
    put(scenario, "flows.bf.count", 7, "here")
    put(scenario, "flows.0.count", 3, "here")
    put(scenario, "topology.star.bottleneck.queue", {"red": {}}, "here")
    put(scenario, "probes.interval", "1 s", "here")
    assert scenario["flows"][1]["count"] == 7
    assert scenario["flows"][0]["count"] == 3
    assert scenario["topology"]["star"]["bottleneck"]["queue"] == {"red": {}}
    assert scenario["probes"] == {"interval": "1 s"}
    with pytest.raises(ExperimentError, match=r"here: `flows.udp.count`: there is no element `udp`; there are tcp, bf"):
        put(scenario, "flows.udp.count", 1, "here")
    with pytest.raises(ExperimentError, match="`duration` is a value, not a table"):
        put(scenario, "duration.x", 1, "here")


def test_layers_of_settings() -> None:
    experiment = sample(
        sensitivity=[{"name": "long", "set": {"duration": "99 s"}, "why": "to see", "seeds": 1}],
        variants=[{"name": "A", "set": {"duration": "5 s"}}, {"name": "B"}],
    )
    first, second = experiment.variants
    point = experiment.points(quick=False)[1]
    assert 'duration = "5 s"' in scenario_text(experiment, first, point, {}, quick=True)
    assert 'duration = "1 s"' in scenario_text(experiment, second, point, {}, quick=True)
    assert 'duration = "99 s"' in scenario_text(experiment, first, point, {"duration": "99 s"}, quick=False)
    assert "count = 2" in scenario_text(experiment, second, point, {}, quick=False)
    # 2 variants x 3 points x (2 seeds + 1 seed of the sensitivity run); quick: 2 x 2 x 1.
    assert len(make_plan(experiment, quick=False, seeds=None).jobs) == 18
    assert len(make_plan(experiment, quick=True, seeds=None).jobs) == 4
    assert len(make_plan(experiment, quick=True, seeds=5).jobs) == 20


def test_a_sensitivity_run_has_variants_and_values_of_its_own() -> None:
    only = {"name": "long", "set": {"duration": "99 s"}, "why": "to see", "seeds": 1, "x": [2, 4], "variants": ["B"]}
    experiment = sample(sensitivity=[only], variants=[{"name": "A"}, {"name": "B"}])
    jobs = make_plan(experiment, quick=False, seeds=1).jobs
    assert [(job.key.at.variant, job.key.at.x) for job in jobs if job.key.at.setting == "long"] == [("B", 2), ("B", 4)]
    assert len(jobs) == 2 * 3 + 2


def test_keys_of_jobs_depend_on_scenario_seed_and_version() -> None:
    jobs = make_plan(sample(), quick=False, seeds=None).jobs
    keys = {job.digest("1") for job in jobs}
    assert len(keys) == len(jobs)
    assert not keys & {job.digest("2") for job in jobs}
    assert keys == {job.digest("1") for job in make_plan(sample(), quick=False, seeds=None).jobs}


def test_a_variant_has_values_and_keys_of_its_own() -> None:
    only_b = {"name": "B", "x": [2, 4], "keys": ["flows.tcp.count"]}
    experiment = sample(variants=[{"name": "A"}, only_b])
    jobs = make_plan(experiment, quick=False, seeds=1).jobs
    assert [(job.key.at.variant, job.key.at.x) for job in jobs] == [("A", 1), ("A", 2), ("A", 4), ("B", 2), ("B", 4)]
    counts = [[flow["count"] for flow in tomllib.loads(job.text)["flows"]] for job in jobs]
    assert counts == [[2, 1], [2, 2], [2, 4], [2, 1], [4, 1]]
    quick = make_plan(experiment, quick=True, seeds=1).jobs
    assert [(job.key.at.variant, job.key.at.x) for job in quick] == [("A", 1), ("A", 4), ("B", 4)]


def test_values_of_a_variant_need_an_axis(tmp_path: Path) -> None:
    data = copy.deepcopy(FILE)
    del data["vary"]
    data["variants"][1]["x"] = [1]
    path = tmp_path / "one.toml"
    path.write_text(tomli_w.dumps(data))
    with pytest.raises(
        ExperimentError, match=r"variant `B`: `x` and `keys` are about the axis, and there is no \[vary\]"
    ):
        load_experiment(path)


def test_each_row_of_the_linux_testbeds_has_a_claim_whose_bands_hold_what_it_measured() -> None:
    rows = 0
    for experiment_id, path in experiment_files(experiment_folder()).items():
        if not experiment_id.startswith("linux/"):
            continue
        experiment = load_experiment(path)
        claims = {name: claim for claim in experiment.claims for name in claim.checks[0].variants or []}
        for table in experiment.tables:
            for row, cells in table.paper.items():
                measured = {column.metric: cell for column, cell in zip(table.columns, cells, strict=True)}
                for one in claims[row].checks:
                    value = measured[one.metric]
                    assert isinstance(value, float)
                    assert one.band.holds(value), f"{claims[row].id}: {one.label}"
                rows += 1
    # 6 rows over each of three queues; 12 over a FIFO, 6 over FQ-CoDel, 16 over DualPI2.
    assert rows == 18 + 34
