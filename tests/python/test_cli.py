"""The command as a user meets it: standard output, standard error and exit status."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import forebay as fb
from conftest import SMALL, Command

# The keys that `run --json` promises.
DOCUMENT = {"scenario", "seed", "duration_s", "flows", "queues", "links", "engine"}
FLOW = {
    "name",
    "kind",
    "goodput_bps",
    "throughput_bps",
    "packets_sent",
    "packets_delivered",
    "packets_dropped",
    "packets_marked",
    "delay_mean_s",
    "delay_p99_s",
}
QUEUE = {"name", "discipline", "packets_dropped", "packets_marked", "length_mean_packets", "length_max_packets"}
LINK = {"name", "utilization"}
ENGINE = {"packet_hops", "events", "threads", "cpu_s", "packet_hops_per_cpu_s", "peak_rss_bytes"}


def test_json_is_one_document_with_the_keys_of_the_contract(forebay: Command, small_file: Path) -> None:
    done = forebay("run", small_file, "--json", "--seed", "7")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document.keys() >= DOCUMENT
    assert (document["scenario"], document["seed"], document["duration_s"]) == ("small", 7, 4.0)
    assert [flow["name"] for flow in document["flows"]] == ["tcp-0", "tcp-1", "tcp-2", "bf"]
    for table, keys in (("flows", FLOW), ("queues", QUEUE), ("links", LINK)):
        assert document[table]
        assert all(row.keys() >= keys for row in document[table])
    assert document["engine"].keys() >= ENGINE
    assert document["engine"]["packet_hops"] > 0


def test_the_command_prints_what_the_package_gives(forebay: Command, small_file: Path, result: fb.Result) -> None:
    printed = json.loads(forebay("run", small_file, "--json").stdout)
    given = json.loads(result.to_json())
    assert printed.pop("engine").keys() == given.pop("engine").keys()
    assert printed == given


def test_tables_are_for_people(forebay: Command, small_file: Path) -> None:
    done = forebay("run", small_file, "--set", "flows.tcp.count=25")
    assert (done.returncode, done.stderr) == (0, "")
    for expected in ("means of a flow", "bottleneck", "Mb/s", "packet-hops", "belligerent", "bf"):
        assert expected in done.stdout
    assert "tcp-7" not in done.stdout
    assert "\x1b" not in done.stdout


def test_a_group_of_which_nothing_got_through_is_not_called_fair(forebay: Command, tmp_path: Path) -> None:
    file = tmp_path / "slow.toml"
    link = 'rate = "1 Mbps", delay = "2 s"'
    topology = f"[topology.star]\naccess = {{ {link} }}\nbottleneck = {{ {link} }}\n"
    flows = '[[flows]]\nname = "u"\ncount = 25\ntransport.udp = { packet = "100 B", constant.rate = "10 kbps" }\n'
    file.write_text(f'duration = "1 s"\n{topology}{flows}')
    output = forebay("run", file).stdout
    assert re.search(r"^u +udp +25 +0 +- ", output, re.MULTILINE)


def test_markup_in_names_is_printed_as_it_is(forebay: Command, tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(SMALL.replace('name = "bf"', 'name = "[red]bf"').replace('["bf"]', '["[red]bf"]'))
    assert "[red]bf" in forebay("run", path).stdout


def test_overrides_and_seed_change_the_run(forebay: Command, small_file: Path) -> None:
    def digest(*options: str) -> str:
        text: str = json.loads(forebay("run", small_file, "--json", *options).stdout)["digest"]
        return text

    assert digest() == digest() == digest("--seed", "1")
    assert len({digest(), digest("--seed", "2"), digest("--set", "topology.star.bottleneck.rate=9 Mbps")}) == 3


def test_out_holds_everything_and_plot_draws_it(forebay: Command, small_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    done = forebay("run", small_file, "--out", out, "--json")
    assert (done.returncode, "written to" in done.stderr) == (0, True)
    assert {path.name for path in out.iterdir()} == {
        "bottleneck.pcapng",
        "flows.parquet",
        "links.parquet",
        "queue_flows.parquet",
        "queues.parquet",
        "result.json",
        "scenario.toml",
        "series.parquet",
        "delays.parquet",
    }
    assert json.loads(done.stdout) == fb.load(out).to_dict()
    again = forebay("run", out / "scenario.toml", "--json", "--set", "name=small")
    assert json.loads(again.stdout)["digest"] == fb.load(out).digest
    drawn = forebay("plot", out)
    paths = [Path(line) for line in drawn.stdout.splitlines()]
    assert drawn.returncode == 0
    assert {path.name for path in paths} >= {"goodput.png", "delay.svg", "queue-bottleneck.png", "series-flow.svg"}
    assert all(path.stat().st_size > 1000 for path in paths)


def bad_input(small: str) -> dict[str, tuple[list[str], str]]:
    """Arguments after the scenario's text, and what the message names."""
    return {
        small.replace("count = 3", "cuont = 3"): ([], "count"),
        small.replace('"10 Mbps"', '"10 Mbit per s"', 1): ([], "10 Mbit per s"),
        small.replace('"10 Mbps"', '"-10 Mbps"', 1): ([], "-10 Mbps"),
        small.replace("[[flows]]", "[[flows", 1): ([], "TOML"),
        small.replace('duration = "4 s"', ""): ([], "duration"),
        small + "\n": (["--set", "flows.tcp.count"], "--set flows.tcp.count"),
        small + "\n\n": (["--set", "flows.udp.count=3"], "udp"),
        small + "\n\n\n": (["--seed", "-1"], "-1"),
        small + "\n\n\n\n": (["--sed", "1"], "--sed"),
    }


@pytest.mark.parametrize("text", bad_input(SMALL))
def test_bad_input_is_one_message_and_status_2(forebay: Command, tmp_path: Path, text: str) -> None:
    arguments, named = bad_input(SMALL)[text]
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    done = forebay("run", path, "--json", "--out", tmp_path / "out", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_unreadable_files_are_named(forebay: Command, tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("missing.toml", "binary.toml", "."):
        done = forebay("run", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert name in done.stderr
        assert "hint:" in done.stderr
    assert forebay("plot", tmp_path).returncode == 2


def test_an_output_folder_that_cannot_be_written_stops_before_the_run(
    forebay: Command, small_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing/here")):
        # Would run for hours if the folder were looked at only afterwards.
        done = forebay("run", small_file, "--out", out, "--set", "duration=90 h", "--set", "probes.interval=1 h")
        assert (done.returncode, done.stdout) == (2, "")
        assert str(out) in done.stderr


def test_ctrl_c_ends_a_run_at_once_and_leaves_nothing_half_written(small_file: Path, tmp_path: Path) -> None:
    words = ["run", small_file, "--set", "duration=90 h", "--set", "probes.interval=1 h", "--out", tmp_path / "out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "forebay", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.glob("out/.partial-*/*.pcapng")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (130, "")
    assert "stopped" in stderr
    assert not (tmp_path / "out").exists()


def test_a_closed_pipe_ends_it_without_a_word(small_file: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "forebay", "run", small_file, "--json"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


@pytest.mark.parametrize(
    "kind", ["disciplines", "transports", "schedulers", "schemes", "buffers", "topologies", "experiments"]
)
def test_lists(forebay: Command, kind: str) -> None:
    done = forebay("list", kind, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    names = [entry["name"] for entry in json.loads(done.stdout)]
    expected = {
        "disciplines": {"drop_tail", "red", "fred", "dbl", "drr", "wfq", "cbq"},
        "transports": {"tcp", "udp"},
        "schedulers": set(),
        "schemes": {"ecm", "e2cm", "qcn", "fecn", "dbp", "dcqcn"},
        "buffers": {"partitions", "complete_sharing", "dynamic_threshold", "abm", "fab", "longest_queue_drop"},
        "topologies": {"star", "dumbbell", "chain", "graph"},
        "experiments": {"dbl/table2", "dbl/fig4"},
    }
    assert set(names) >= expected[kind]
    table = forebay("list", kind).stdout
    assert all(name in table for name in names)


def test_list_without_a_kind_names_everything(forebay: Command) -> None:
    listed = json.loads(forebay("list", "--json").stdout)
    assert set(listed) >= {"disciplines", "schemes", "experiments"}
    del listed["experiments"]  # The table shows how to list them.
    table = forebay("list").stdout
    assert [entry["name"] for entries in listed.values() for entry in entries if entry["name"] not in table] == []


def test_a_bare_reproduce_lists_the_experiments_and_starts_none(forebay: Command, tmp_path: Path) -> None:
    done = forebay("reproduce")
    assert done.returncode == 2
    assert "dbl/table2" in done.stdout
    assert "`forebay reproduce all` runs all" in done.stderr
    as_json = forebay("reproduce", "--json", "--quick")
    assert (as_json.returncode, as_json.stdout) == (2, "")
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_is_answered_with_the_nearest(forebay: Command) -> None:
    done = forebay("reproduce", "dbl/tabel2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean dbl/table2" in done.stderr
    assert "`forebay list experiments` names all" in done.stderr
    assert len(done.stderr) < 250


@pytest.mark.parametrize("coloured", ["", "in colours"])
def test_an_error_without_colours_is_shown_on_a_terminal_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], coloured: str
) -> None:
    from forebay.cli import entry

    def fail() -> None:
        error = fb.ScenarioError("a path is too long")
        error.coloured = coloured
        raise error

    monkeypatch.setattr(entry, "app", fail)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert entry._status() == 2
    assert (coloured or "a path is too long") in capsys.readouterr().err


def test_explain_names_parameters_with_defaults_and_the_source(forebay: Command) -> None:
    done = forebay("explain", "red")
    assert (done.returncode, done.stderr) == (0, "")
    for expected in ("What it does", "Source", "Floyd", "Parameters", "min_threshold", "5 packets"):
        assert expected in done.stdout
    for choice in ("tcp", "udp", "star", "drop-tail"):
        assert forebay("explain", choice).returncode == 0
    wrong = forebay("explain", "dbll")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean dbl?" in wrong.stderr


def test_schema_is_a_json_schema(forebay: Command) -> None:
    schema = json.loads(forebay("schema").stdout)
    assert {"duration", "topology", "flows"} <= schema["properties"].keys()


def test_version_and_help(forebay: Command) -> None:
    assert forebay("--version").stdout == f"forebay {fb.__version__}\n"
    overview = forebay("--help").stdout
    for word in ("run", "reproduce", "compare", "list", "explain", "schema", "plot", "replay"):
        assert f" {word} " in overview
        assert forebay(word, "--help").returncode == 0


def test_an_internal_error_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from forebay.cli import entry

    def fail() -> None:
        message = "no such state"
        raise RuntimeError(message)

    monkeypatch.setattr(entry, "app", fail)
    assert entry._status() == 3
    message = capsys.readouterr().err
    assert "no such state" in message
    assert "please report" in message
