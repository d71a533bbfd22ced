"""The terminal: the width of a pipe, the ends of lines, and every row of a table."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from conftest import Command
from forebay.cli import terminal

MANY = """
duration = "20 ms"
[topology.star]
access = { rate = "100 Mbps", delay = "1 ms" }
bottleneck = { rate = "100 Mbps", delay = "1 ms", queue = "drop_tail" }
[[flows]]
name = "many"
count = 30
transport.udp = { packet = "1000 B", constant = { rate = "1 Mbps" } }
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.toml"
    path.write_text(MANY, encoding="utf-8")
    return path


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_a_pipe_is_as_wide_as_columns_say(forebay: Command, many: Path, columns: int) -> None:
    wide = forebay("run", many)
    folded = forebay("run", many, env={"COLUMNS": str(columns)})
    assert max(map(len, folded.stdout.splitlines())) <= columns < max(map(len, wide.stdout.splitlines()))


@pytest.mark.parametrize(("given", "width"), [("", 200), ("wide", 200), ("0", 20), ("-5", 200), ("132", 132)])
def test_the_width_of_a_pipe(monkeypatch: pytest.MonkeyPatch, given: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", given)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert terminal.output().width == width


@pytest.mark.parametrize("command", [("run",), ("list", "disciplines"), ("explain", "red"), ("list",)])
def test_no_line_ends_in_blanks(forebay: Command, many: Path, command: tuple[str, ...]) -> None:
    arguments = [*command, many] if command == ("run",) else [*command]
    lines = forebay(*arguments, env={"COLUMNS": "80"}).stdout.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if line != line.rstrip()] == []


def test_colours_do_not_keep_blanks_at_the_ends_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    console = Console(file=out, force_terminal=True, color_system="standard", width=30)
    monkeypatch.setattr(terminal, "output", lambda: console)
    terminal.show("[bold]a title   [/]  ", "[dim]text[/]   ")
    text = out.getvalue()
    assert "\x1b[1m" in text
    assert " \x1b[0m\n" not in text
    assert " \n" not in text
    assert "a title" in text


def test_all_shows_every_row(forebay: Command, many: Path) -> None:
    short, whole = forebay("run", many).stdout, forebay("run", many, "--all").stdout
    assert "--all shows each of the 30 flows" in short
    assert "many-29 " not in short
    assert "--all" not in whole
    assert all(f"many-{number} " in whole for number in range(30))


def test_all_shows_every_point(forebay: Command, many: Path, tmp_path: Path) -> None:
    sweep = ("sweep", many, "--vary", "flows.many.count=lin:1:70:70", "--seeds", "1", "--out", tmp_path / "sweep")
    assert "and 10 more points, which --all shows" in forebay(*sweep).stdout
    whole = forebay(*sweep, "--all").stdout.splitlines()
    assert any(line.startswith("70 ") for line in whole)
    assert not any("more points" in line for line in whole)
