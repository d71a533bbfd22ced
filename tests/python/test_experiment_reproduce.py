"""`reproduce` from end to end with a made-up simulator: verdicts, files, exit status, and going on after a stop."""

from __future__ import annotations

import copy
import json
import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from experiment_samples import FILE, every_outcome, outcome, sample
from forebay.cli.session import reproduce
from forebay.errors import DamagedFileWarning
from forebay.experiment.errors import ExperimentError
from forebay.experiment.figures import draw_figure
from forebay.experiment.judge import judge, judge_all
from forebay.experiment.refusal import refused_at_evaluation
from forebay.experiment.runs import Runs
from forebay.experiment.tables import measured_text, table_rows
from forebay.runs.execute import StoppedError, execute
from forebay.runs.job import Job
from forebay.runs.outcome import Outcome
from forebay.runs.store import Store
from forebay.runs.workers import Where


class Simulator:
    """Counts its runs; stops with `failure` from the n-th on."""

    def __init__(self, fail_at: int | None = None, failure: type[BaseException] = KeyboardInterrupt) -> None:
        self.runs: list[tuple[str, int]] = []
        self.fail_at = fail_at
        self.failure = failure

    def __call__(self, text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
        if not go_on():
            raise StoppedError
        if self.fail_at is not None and len(self.runs) >= self.fail_at:
            raise self.failure
        self.runs.append((f"{name}: {text}", seed))
        return outcome(tcp=(9e6 + 1e6 * seed, 9e6 + 1e6 * seed))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one experiment, to work in."""
    path = tmp_path / "experiments" / "sample" / "one.toml"
    path.parent.mkdir(parents=True)
    path.write_text(tomli_w.dumps(FILE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdicts(**changes: Any) -> list[str]:
    experiment = sample(**changes)
    runs = Runs(experiment, False, every_outcome(experiment, lambda _variant, _x, _seed: outcome()))
    return [result.verdict for result in judge_all(runs)]


def claims(*bands: dict[str, float], **changes: Any) -> list[dict[str, Any]]:
    checks = [{"metric": "tcp", "variants": ["A"], "band": band} for band in bands]
    return [{**FILE["claims"][0], "checks": checks, **changes}]


def test_verdicts() -> None:
    assert verdicts(claims=claims({"min": 15})) == ["reproduced"]
    assert verdicts(claims=claims({"above": 15})) == ["not reproduced"]
    assert verdicts(claims=claims({"min": 15}, {"max": 14})) == ["not reproduced"]


def test_a_quick_run_does_not_judge_what_it_cannot() -> None:
    experiment = sample(claims=claims({"min": 1}, quick=False))
    runs = Runs(experiment, True, every_outcome(experiment, lambda *_: outcome(), quick=True))
    assert judge_all(runs)[0].verdict == "not judged"
    only_two = [{**FILE["claims"][0], "checks": [{"metric": "tcp", "x": [2], "band": {"min": 1}}]}]
    experiment = sample(claims=only_two)
    runs = Runs(experiment, True, every_outcome(experiment, lambda *_: outcome(), quick=True))
    result = judge(runs, experiment.claims[0])
    assert result.verdict == "not judged"
    assert result.to_json()["value"] is None


def test_a_variant_that_a_quick_run_leaves_out() -> None:
    less = {"kind": "difference", "of": "tcp", "minus_variant": "B"}
    variants = [{"name": "A"}, {"name": "B", "x": [2]}, {"name": "C", "x": [2, 4]}]
    columns = [{"label": name, "metric": "tcp", "variant": name} for name in ("B", "C")]
    changes: dict[str, Any] = {
        "variants": variants,
        "claims": [{**FILE["claims"][0], "checks": [{"metric": less, "x": [2], "band": {"max": 0}}]}],
        "tables": [{"title": "t", "rows": "x", "columns": columns}],
        "figures": [{**FILE["figures"][0], "lines": [{"metric": "tcp", "label": "B", "variant": "B"}]}],
    }
    experiment = sample(**changes, vary={**FILE["vary"], "quick": [1]})
    quick = Runs(experiment, True, every_outcome(experiment, lambda *_: outcome(), quick=True))
    assert [result.verdict for result in judge_all(quick)] == ["not judged"]
    assert table_rows(quick, experiment.tables[0]) == []
    draw_figure(quick, experiment.figures[0])
    full = Runs(experiment, False, every_outcome(experiment, lambda *_: outcome()))
    assert [result.verdict for result in judge_all(full)] == ["reproduced"]
    rows = table_rows(full, experiment.tables[0])
    assert [[math.isnan(cell.mean) for cell in row.measured] for row in rows] == [[False, False], [True, False]]
    axes = draw_figure(full, experiment.figures[0]).axes[0]
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [2.0]
    # A full run has everything that a claim names, or the file is wrong.
    wrong = sample(**{**changes, "claims": [{**FILE["claims"][0], "checks": [{"metric": less, "band": {"max": 0}}]}]})
    with pytest.raises(ExperimentError, match=r"there is no run at \(B, 1\)"):
        judge_all(Runs(wrong, False, every_outcome(wrong, lambda *_: outcome())))


@pytest.mark.parametrize("index", [2, 3, 4])
def test_a_figure_leaves_out_what_a_quick_run_does(index: int) -> None:
    figure = FILE["figures"][index]
    lines = "series" if figure["kind"] == "series" else "flows"
    figure = {**figure, "levels": [], lines: [{**line, "variant": "B", "x": 2} for line in figure[lines]]}
    experiment = sample(figures=[figure], vary={**FILE["vary"], "quick": [1]})
    quick = Runs(experiment, True, every_outcome(experiment, lambda *_: outcome(), quick=True))
    full = Runs(experiment, False, every_outcome(experiment, lambda *_: outcome()))
    drawn = [draw_figure(runs, experiment.figures[0]).axes[0] for runs in (quick, full)]
    points = [sum(np.asarray(line.get_xdata()).size for line in axes.lines) + len(axes.patches) for axes in drawn]
    assert points[0] == 0 < points[1]


def claims_page(folder: Path) -> str:
    return (folder / "out" / "sample" / "one" / "report.md").read_text()


def test_a_claim_of_several_checks_shows_which_of_them_failed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = copy.deepcopy(FILE)
    low = {"metric": "tcp", "label": "low", "variants": ["A"], "x": [1], "band": {"max": 2}}
    high = {"metric": "tcp", "label": "high", "variants": ["A"], "x": [1], "band": {"min": 2}}
    file["claims"] = [{**FILE["claims"][0], "checks": [high, low]}]
    path = folder / "experiments" / "sample" / "one.toml"
    path.write_text(tomli_w.dumps(file))
    assert reproduce(["sample/one"], simulate=Simulator(), out=folder / "out", as_json=True) == 1
    (claim,) = json.loads(capsys.readouterr().out)["experiments"][0]["claims"]
    assert [(check["label"], check["holds"], check["band"]) for check in claim["checks"]] == [
        ("high", True, ">= 2"),
        ("low", False, "<= 2"),
    ]
    for check in claim["checks"]:
        assert check["value"] == pytest.approx(10.5)
        assert check["ci95"] == pytest.approx(6.353, rel=1e-3)
    assert reproduce(["sample/one"], simulate=Simulator(), out=folder / "out") == 1
    printed = " ".join(capsys.readouterr().out.split())
    page = claims_page(folder)
    assert "high: 10.5 ± 6.4 Mb/s<br>low: 10.5 ± 6.4 Mb/s, fails <= 2 |" in page
    assert "| sample/one-tcp | high, A, 1 | >= 2 Mb/s | 10.5 ± 6.4 Mb/s | holds |" in page
    assert "| sample/one-tcp | low, A, 1 | <= 2 Mb/s | 10.5 ± 6.4 Mb/s | fails |" in page
    assert "fails" in printed


def test_a_claim_of_one_value_has_no_table_of_checks(folder: Path) -> None:
    assert reproduce(["sample/one"], simulate=Simulator(), out=folder / "out", as_json=True) == 0
    assert "Their checks" not in claims_page(folder)


@pytest.mark.parametrize("edge", [{"min": 10.4}, {"max": 10.4}, {"min": 1, "max": 10.4}])
def test_an_edge_within_the_interval_is_told_and_changes_no_verdict(edge: dict[str, float]) -> None:
    # Seeds give 9, 11, 10, 12: a mean of 10.5 and a standard deviation of 1.29.
    experiment = sample(seeds=4, vary=None, variants=[{"name": "A"}], figures=[], claims=claims(edge), tables=[])
    experiment_runs = every_outcome(experiment, lambda *at: outcome(tcp=((0, 9e6, 11e6, 10e6, 12e6)[at[2]],)), seeds=4)
    (result,) = judge_all(Runs(experiment, False, experiment_runs))
    assert result.verdict == ("reproduced" if edge == {"min": 10.4} else "not reproduced")
    (finding,) = result.checks[0].findings
    assert finding.is_near_edge
    needed = finding.seeds_to_tell
    # A standard deviation of 1.291 over the root of 643, times 1.964, is 0.09997; with 642 seeds it is more than 0.1.
    assert needed == 643
    value = result.to_json()["checks"][0]["values"][0]
    assert (value["near_edge"], value["seeds_to_tell"]) == (True, 643)
    assert "near the edge: 4 seeds do not decide, about 643 would" in measured_text(result)


def test_a_mean_far_from_the_edge_says_nothing_of_seeds() -> None:
    experiment = sample(seeds=4, vary=None, variants=[{"name": "A"}], figures=[], claims=claims({"min": 5}), tables=[])
    outcomes = every_outcome(experiment, lambda *at: outcome(tcp=((0, 9e6, 11e6, 10e6, 12e6)[at[2]],)), seeds=4)
    (result,) = judge_all(Runs(experiment, False, outcomes))
    value = result.to_json()["checks"][0]["values"][0]
    assert (value["near_edge"], value["seeds_to_tell"]) == (False, None)
    assert measured_text(result) == "10.5 ± 2.1 Mb/s"


@pytest.mark.parametrize(("seeds", "verdict", "reason"), [(2, "not judged", "needs 3 seeds"), (3, "reproduced", None)])
def test_a_claim_that_needs_more_seeds_is_measured_and_not_judged(seeds: int, verdict: str, reason: str | None) -> None:
    experiment = sample(seeds=3, claims=claims({"min": 1}, seeds=3))
    (result,) = judge_all(Runs(experiment, False, every_outcome(experiment, lambda *_: outcome(), seeds=seeds)))
    document = result.to_json()
    assert (document["verdict"], document["reason"]) == (verdict, reason)
    assert document["value"] == pytest.approx(15.0)


def test_what_cannot_run_yet_stands_there_with_its_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = copy.deepcopy(FILE)
    file["variants"].append({"name": "C", "not_judged": "needs DualPI2", "set": {"nothing.like.this": 1}})
    ratio = {"kind": "ratio", "of": "tcp", "over_variant": "C"}
    base = FILE["claims"][0]
    file["claims"] = [
        {**base, "id": "named", "checks": [{"metric": "tcp", "variants": ["C"], "band": {"min": 1e9}}]},
        {**base, "id": "in-a-metric", "checks": [{"metric": ratio, "band": {"min": 1e9}}]},
        {**base, "id": "itself", "checks": [], "not_judged": "needs Prague"},
    ]
    (folder / "experiments" / "sample" / "one.toml").write_text(tomli_w.dumps(file))
    simulator = Simulator()
    assert reproduce(["sample/one"], simulate=simulator, out=folder / "out") == 0
    assert not any("(C" in text for text, _ in simulator.runs)
    assert "3 claims: 3 not judged" in capsys.readouterr().out
    for reason in ("needs DualPI2", "needs DualPI2", "needs Prague"):
        assert f"not judged: {reason} |" in claims_page(folder)
    document = json.loads((folder / "out" / "claims.json").read_text())
    found = [(claim["verdict"], claim["reason"]) for claim in document["experiments"][0]["claims"]]
    assert found == [("not judged", reason) for reason in ("needs DualPI2", "needs DualPI2", "needs Prague")]


def test_a_line_over_variants_has_their_number_on_its_axis() -> None:
    variants = [{"name": "A", "numbers": {"ports": 8}}, {"name": "B", "numbers": {"ports": 2}}]
    lines = [{"metric": "tcp", "label": "tcp", "variants": ["B", "A"], "number": "ports"}]
    experiment = sample(variants=variants, figures=[{**FILE["figures"][0], "lines": lines}])
    runs = Runs(experiment, False, every_outcome(experiment, lambda *_: outcome()))
    axes = draw_figure(runs, experiment.figures[0]).axes[0]
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [2.0, 8.0]


def test_the_worst_of_several_values_is_shown() -> None:
    experiment = sample(claims=claims({"min": 0, "max": 100}))
    everything = every_outcome(experiment, lambda _variant, x, _seed: outcome(tcp=(1e6 * (x or 0),)))
    (result,) = judge_all(Runs(experiment, False, everything))
    assert [finding.estimate.mean for finding in result.checks[0].findings] == [1, 2, 4]
    assert result.checks[0].worst.label == "A, 1"


def test_a_value_that_does_not_exist_is_not_reproduced() -> None:
    never = {"kind": "series", "of": "queue", "name": "bottleneck", "quantity": "dbl", "reduce": "first_time"}
    check = {"metric": {**never, "at_most": -1}, "band": {"max": 9}}
    experiment = sample(claims=[{**FILE["claims"][0], "checks": [check]}])
    (result,) = judge_all(Runs(experiment, False, every_outcome(experiment, lambda *_: outcome())))
    assert result.verdict == "not reproduced"
    assert result.to_json()["value"] is None


def test_json_is_one_document_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = reproduce(["sample/one"], as_json=True, simulate=Simulator(), out=folder / "out")
    assert status == 0
    document = json.loads(capsys.readouterr().out)
    (experiment,) = document["experiments"]
    assert (experiment["id"], experiment["quick"], experiment["seeds"]) == ("sample/one", False, 2)
    (claim,) = experiment["claims"]
    assert {"id", "paper", "band", "value", "ci95", "verdict"} <= claim.keys()
    assert claim["value"] == pytest.approx(10.5)
    assert claim["ci95"] == pytest.approx(12.706 * 0.5, rel=1e-3)
    assert document == json.loads((folder / "out" / "claims.json").read_text())


def test_files_and_printed_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce(["all"], simulate=Simulator(), out=folder / "out") == 0
    printed = capsys.readouterr().out
    assert "10.50 ± 6.35" in printed
    assert "1 claim: 1 reproduced" in printed
    assert [line for line in printed.splitlines() if line != line.rstrip()] == []
    place = folder / "out" / "sample" / "one"
    for name in ("lines", "bars", "series"):
        assert (place / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (place / f"{name}.svg").read_text()
    assert "| A | paper | 10 | - |" in (place / "report.md").read_text()
    assert "sample/one-tcp" in (folder / "out" / "claims.md").read_text()
    assert 'duration = "10 s"' in (place / "scenarios" / "a-1.toml").read_text()


def test_an_experiment_without_claims_shows_its_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = {key: value for key, value in FILE.items() if key not in ("claims", "sensitivity")}
    (folder / "experiments" / "sample" / "one.toml").write_text(tomli_w.dumps(file))
    assert reproduce(["sample/one"], simulate=Simulator(), out=folder / "out") == 0
    printed = capsys.readouterr().out
    assert "10.50 ± 6.35" in printed
    assert "0 claims\n" in printed
    report = (folder / "out" / "sample" / "one" / "report.md").read_text()
    assert "## Claims" not in report
    assert "| A | paper | 10 | - |" in report


def test_a_second_call_runs_nothing_again(folder: Path) -> None:
    first, second = Simulator(), Simulator()
    reproduce(["sample/one"], simulate=first, out=folder / "out", as_json=True)
    reproduce(["sample/one"], simulate=second, out=folder / "out", as_json=True)
    assert len(first.runs) == 12
    assert second.runs == []
    third = Simulator()
    reproduce(["sample/one"], seeds=3, simulate=third, out=folder / "out", as_json=True)
    assert {seed for _, seed in third.runs} == {3}


def test_a_stopped_call_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = Simulator(fail_at=5), Simulator()
    assert reproduce(["sample/one"], simulate=first, out=folder / "out", where=Where(1)) == 130
    assert "the same command continues from there" in capsys.readouterr().err
    assert reproduce(["sample/one"], simulate=second, out=folder / "out", where=Where(1), as_json=True) == 0
    assert len(first.runs) == 5
    assert len(second.runs) == 12 - 5


def test_a_damaged_result_is_run_again(folder: Path) -> None:
    reproduce(["sample/one"], simulate=Simulator(), out=folder / "out", as_json=True)
    damaged = min((folder / "out" / "sample" / "one" / "runs").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    again = Simulator()
    with pytest.warns(DamagedFileWarning, match=r"is damaged: it is not a whole Parquet file; the run is repeated"):
        reproduce(["sample/one"], simulate=again, out=folder / "out", as_json=True)
    assert len(again.runs) == 1


def test_a_claim_that_does_not_hold_gives_status_1(folder: Path) -> None:
    file = copy.deepcopy(FILE)
    file["claims"] = claims({"min": 1000})
    (folder / "experiments" / "sample" / "one.toml").write_text(tomli_w.dumps(file))
    assert reproduce(["sample"], simulate=Simulator(), out=folder / "out", as_json=True) == 1


@pytest.mark.parametrize("arguments", [{"ids": ["nothing"]}, {"seeds": 0}, {"ids": ["absent.toml"]}])
def test_bad_input_gives_status_2_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: dict[str, Any]
) -> None:
    arguments = {"ids": ["sample/one"], **arguments}
    assert reproduce(**arguments, simulate=Simulator(), out=folder / "out", as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("right", "wrong", "message", "line"),
    [
        (
            'column = "goodput_bps"',
            'column = "speed"',
            "(A, 1) the table `flows` has no column `speed`",
            "[metrics.tcp]",
        ),
        (
            'metric = "tcp"\nvariants',
            'metric = { kind = "average", of = "steps" }\nvariants',
            "a metric of metrics takes single values, no ratios",
            'metric = { kind = "average", of = "steps" }',
        ),
        (
            'metric = "tcp"\nvariants',
            'metric = { kind = "ratio", of = "bf", over = "tcp", x = 9 }\nvariants',
            "there is no run at (A, 9)",
            'metric = { kind = "ratio", of = "bf", over = "tcp", x = 9 }',
        ),
        (
            '{ metric = "tcp", label',
            '{ metric = "steps", label',
            "a table or line takes metrics of one value",
            "[metrics.steps]",
        ),
        (
            'name = "bottleneck"',
            'name = "elsewhere"',
            "there is no series queue elsewhere dbl",
            '{ label = "dbl", of = "queue", name = "elsewhere", quantity = "dbl" },',
        ),
        (
            'group = "tcp", variant',
            'group = "tcp", column = "speed", variant',
            "there is no column `speed`",
            '{ label = "tcp", group = "tcp", column = "speed", variant = "B", x = 2 },',
        ),
    ],
)
def test_what_cannot_be_evaluated_is_shown_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, message: str, line: str
) -> None:
    steps = {"steps": {"kind": "step", "of": "tcp"}}
    text = tomli_w.dumps({**copy.deepcopy(FILE), "metrics": {**FILE["metrics"], **steps}})
    assert right in text
    text = text.replace(right, wrong, 1)
    (folder / "experiments" / "sample" / "one.toml").write_text(text)
    assert reproduce(["sample/one"], simulate=Simulator(), out=folder / "out", as_json=True) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in re.sub(r"\n +[│·]? *", " ", captured.err)
    place = re.search(r"one\.toml:(\d+):", captured.err)
    assert place is not None
    assert text.splitlines()[int(place[1]) - 1].strip() == line


def test_without_a_file_there_is_no_line() -> None:
    experiment = sample(metrics={**FILE["metrics"], "tcp": {"kind": "column", "column": "speed"}})
    runs = Runs(experiment, False, every_outcome(experiment, lambda *_: outcome()))
    with pytest.raises(ExperimentError, match=r"^sample/one: \(A, 1\) the table") as caught:
        judge_all(runs)
    assert refused_at_evaluation(experiment, caught.value) is caught.value


def test_a_folder_that_cannot_be_written_gives_status_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "file").write_text("")
    assert reproduce(["sample/one"], simulate=Simulator(), out=folder / "file" / "out") == 2
    assert str(folder / "file") in capsys.readouterr().err


def test_an_outcome_survives_its_file(tmp_path: Path) -> None:
    before, store, job = outcome(), Store(tmp_path), Job("key", "sample", 2**64 - 1, "")
    assert store.keep(job, before)
    after = store.find(job)
    assert isinstance(after, Outcome)
    assert after.group("tcp") == ["tcp-0", "tcp-1"]
    for table, columns in before.tables.items():
        assert columns.keys() == after.tables[table].keys()
        for column, values in columns.items():
            np.testing.assert_array_equal(values, after.tables[table][column])
    for old, new in zip(before.series, after.series, strict=True):
        assert (old.of, old.name, old.quantity, old.start_s, old.interval_s) == (
            new.of,
            new.name,
            new.quantity,
            new.start_s,
            new.interval_s,
        )
        np.testing.assert_array_equal(old.values, new.values)


def test_two_files_with_one_id_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "copy.toml").write_text(tomli_w.dumps(FILE))
    assert reproduce(["sample/one", "copy.toml"], simulate=Simulator(), out=folder / "out") == 2
    assert "copy.toml: id: `sample/one` is the id of another experiment" in capsys.readouterr().err


def test_few_jobs_are_submitted_however_long_one_takes(tmp_path: Path) -> None:
    jobs = [Job("one", "sample", seed, "") for seed in range(20)]
    submitted: list[int] = []

    def store_of(job: Job[str]) -> Store:
        submitted.append(job.seed)
        return Store(tmp_path)

    def slow(text: str, name: str, seed: int, go_on: Callable[[], bool]) -> Outcome:
        assert go_on(), (text, name, seed)
        time.sleep(0.6)
        return outcome()

    with Where(1).hire() as workers:
        runs = execute(jobs, store_of, slow, workers=workers, on_done=lambda _job, _kept: None)
        next(runs)
        runs.close()
    assert submitted == [0, 1]
